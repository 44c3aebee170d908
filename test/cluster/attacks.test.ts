import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it, test } from 'node:test';
import { podResource } from '#api/cluster-kinds.ts';
import type { Driver } from '#drivers/driver.ts';
import type { Workload } from '#drivers/workload.ts';
import type { Finding, Findings } from '#test/attacks/case.ts';
import { probes, readFindings } from '#test/attacks/probe.ts';
import { ensureUntil, removeFully, workloadOf } from '#test/fixtures/driver-host.ts';
import {
  createTestNamespace,
  type OpenedDriver,
  openDriver,
  type TestNamespace,
} from '#test/fixtures/kubernetes-driver/cluster.ts';
import { ensureImages } from '../../scripts/images/ensure.ts';
import { type Cluster, chooseProvider, startCluster } from './provider.ts';

const progress = (line: string) => process.stderr.write(`${line}\n`);
const provider = await chooseProvider();
const images = 'missing' in provider ? provider : await ensureImages(['agent', 'python'], progress);
const python = 'localhost/ploinky/python:test';

/**
 * Calls that the runtime's default filter leaves open, as every container runtime does: in one's own processes alone,
 * which is all that a pod has.
 */
const leftOpen = [
  ...['ptrace another process', 'process_vm_readv', 'pidfd_getfd', 'personality', 'name_to_handle_at'],
];

if ('missing' in images) test('attacks from inside a real pod', { skip: images.missing });
else testPods(Object.values(images.archives));

function testPods(archives: readonly string[]): void {
  describe('attacks from inside a real pod', { timeout: 300_000 }, () => {
    let cluster: Cluster;
    let place: TestNamespace;
    let opened: OpenedDriver;
    let driver: Driver;
    let agent: string;
    const free = 'attacks-control';
    before(async () => {
      const name = process.env['PLOINKY_TEST_CLUSTER'];
      const started = await startCluster({ keep: true, progress, ...(name === undefined ? {} : { name }) });
      if ('missing' in started) throw new Error(started.missing);
      cluster = started;
      await cluster.loadImages(archives);
      place = await createTestNamespace(cluster.kubeconfig);
      opened = openDriver(place);
      driver = opened.driver;
      agent = await startAgent();
      await startControl();
    });
    after(async () => {
      await cluster?.tryKubectl(['delete', 'namespace', free, '--ignore-not-found', '--wait=false']);
      await opened?.close();
      await place?.close();
    });

    async function startAgent(): Promise<string> {
      const plain = workloadOf();
      const wanted: Workload = {
        ...plain,
        id: { ...plain.id, namespace: place.name },
        runtime: { ...plain.runtime, image: python },
        agentServer: {
          ...plain.agentServer,
          command: ['python3', '-c', 'import time; time.sleep(600)'],
        },
        code: { type: 'inline', files: { 'probes.py': readFileSync(probes, 'utf8') } },
        podTemplate: { spec: { terminationGracePeriodSeconds: 1 } },
      };
      await ensureUntil(driver, wanted, (seen) => seen.current === 1, { timeoutMs: 90_000 });
      const { items } = await place.client.list(podResource, { namespace: place.name });
      return items[0]?.metadata.name ?? '';
    }

    /** A pod of the same image without any of the profile: privileged, and root. */
    async function startControl(): Promise<void> {
      await cluster.tryKubectl(['create', 'namespace', free]);
      const container = {
        ...{ name: 'agent', image: python, imagePullPolicy: 'IfNotPresent' },
        command: ['python3', '-c', 'import time; time.sleep(600)'],
        securityContext: { privileged: true, runAsUser: 0 },
      };
      const spec = { terminationGracePeriodSeconds: 0, hostPID: true, containers: [container] };
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'control', namespace: free }, spec };
      await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(pod) });
      await cluster.kubectl(['wait', '-n', free, 'pod/control', '--for=condition=Ready', '--timeout=60s']);
    }

    const probeIn = async (
      namespace: string,
      pod: string,
      group: string,
      given: unknown,
    ): Promise<Findings> => {
      const script = readFileSync(probes, 'utf8');
      const inside = ['exec', '-i', '-n', namespace, pod, '-c', 'agent', '--', 'python3', '-', group];
      const told = await cluster.kubectl([...inside, JSON.stringify(given)], { input: script });
      return readFindings(told);
    };
    const both = async (group: string, given: unknown = {}) => ({
      ours: await probeIn(place.name, agent, group, given),
      control: await probeIn(free, 'control', group, given),
    });
    const working = (findings: Findings) =>
      [...findings].filter(([, { verdict }]) => verdict === 'works').map(([name]) => name);
    const isStopped = (finding: Finding | undefined) => finding?.verdict === 'stopped';

    it('a process is nobody in particular: no capability, no new privileges, a filter', async () => {
      const { ours, control } = await both('status');
      assert.deepEqual(working(ours), []);
      assert.match(ours.get('holds capabilities')?.detail ?? '', /^CapEff 0+$/);
      assert.equal(ours.get('may gain privileges by exec')?.detail, 'NoNewPrivs 1');
      assert.equal(ours.get('has every system call')?.detail, 'Seccomp 2');
      assert.deepEqual(working(control), [...ours.keys()]);
    });

    it('the kernel’s surfaces are closed, but for what every runtime leaves open', async (context) => {
      const { ours, control } = await both('kernel', { scratch: '/tmp' });
      context.diagnostic(`left open by the runtime's default filter: ${working(ours).join(', ')}`);
      assert.deepEqual(
        working(ours).filter((name) => !leftOpen.includes(name)),
        [],
      );
      const shown = working(control).filter((name) => isStopped(ours.get(name)));
      assert.ok(shown.length >= 15, `the control shows only ${shown.join(', ')}`);
    });

    it('nothing is written but the workspace and folders that end with the pod', async () => {
      const paths = ['/etc/x', '/usr/x', '/code/x', '/Agent/x', '/proc/sys/kernel/hostname', '/sys/x'];
      const script = `for p in ${paths.join(' ')}; do (echo x > $p) 2>/dev/null && echo $p; done; true`;
      const run = (namespace: string, pod: string) =>
        cluster.kubectl(['exec', '-n', namespace, pod, '-c', 'agent', '--', '/bin/sh', '-c', script]);
      assert.equal(await run(place.name, agent), '');
      assert.match(await run(free, 'control'), /\/etc\/x/);
      const token = 'ls /var/run/secrets/kubernetes.io/serviceaccount/token';
      const see = (namespace: string, pod: string) =>
        cluster.tryKubectl(['exec', '-n', namespace, pod, '-c', 'agent', '--', '/bin/sh', '-c', token]);
      assert.notEqual((await see(place.name, agent)).code, 0);
      assert.equal((await see(free, 'control')).code, 0);
    });

    it('processes of the node are not seen', async () => {
      const count = 'ls -d /proc/[0-9]* | wc -l';
      const seen = async (namespace: string, pod: string) =>
        Number(
          await cluster.kubectl(['exec', '-n', namespace, pod, '-c', 'agent', '--', '/bin/sh', '-c', count]),
        );
      const own = await seen(place.name, agent);
      assert.ok(own >= 1 && own < 10, `${own}`);
      assert.ok((await seen(free, 'control')) > 10);
    });

    it('no name is resolved', async () => {
      const script =
        'import socket; print(socket.getaddrinfo("kubernetes.default.svc.cluster.local", 443)[0][4][0])';
      const resolve = (namespace: string, pod: string) =>
        cluster.tryKubectl(['exec', '-n', namespace, pod, '-c', 'agent', '--', 'python3', '-c', script]);
      assert.notEqual((await resolve(place.name, agent)).code, 0);
      assert.equal((await resolve(free, 'control')).code, 0);
    });

    it('the API server and the cluster’s resolver are not reached', async (context) => {
      const ask = (...args: string[]) => cluster.kubectl(args);
      const api = ['get', 'service', '-n', 'default', 'kubernetes', '-o', 'jsonpath={.spec.clusterIP}'];
      const find = 'print([line.split()[1] for line in open("/etc/resolv.conf") if "nameserver" in line][0])';
      const resolver = ['exec', '-n', free, 'control', '--', 'python3', '-c', find];
      const targets = [`${await ask(...api)}:443`, `${(await ask(...resolver)).trim()}:53`];
      const reached = async (namespace: string, pod: string, target: string) => {
        const [host, port] = target.split(':');
        const script = `import socket; socket.create_connection(("${host}", ${port}), 3)`;
        const inside = ['exec', '-n', namespace, pod, '-c', 'agent', '--', 'python3', '-c', script];
        return (await cluster.tryKubectl(inside)).code === 0;
      };
      for (const target of targets) assert.ok(await reached(free, 'control', target), target);
      const open = [];
      for (const target of targets) if (await reached(place.name, agent, target)) open.push(target);
      if (open.length === targets.length) {
        context.skip(
          'the network of this cluster enforces no NetworkPolicy: nothing that pods reach is tried',
        );
        return;
      }
      assert.deepEqual(open, []);
    });

    it('a container runtime that the cluster does not have is named in the Agent’s fault', async () => {
      const plain = workloadOf();
      const podTemplate = { spec: { runtimeClassName: 'absent' } };
      const wanted = { ...plain, id: { ...plain.id, namespace: place.name }, podTemplate };
      const seen = await ensureUntil(driver, wanted, ({ fault }) => fault !== undefined);
      assert.match(
        `${seen.fault?.reason}: ${seen.fault?.message}`,
        /^AdmissionRefused: .*RuntimeClass.*absent/i,
      );
      await removeFully(driver, wanted);
    });
  });
}
