import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it, test } from 'node:test';
import {
  type Container,
  type PersistentVolumeClaim,
  type Pod,
  type PodSpec,
  persistentVolumeClaimResource,
  podResource,
} from '#api/cluster-kinds.ts';
import type { ConfigMap, KubeObject } from '#api/meta.ts';
import { configMapResource } from '#api/resources.ts';
import type { Driver } from '#drivers/driver.ts';
import { codeConfigMapName } from '#drivers/kubernetes/names.ts';
import type { PodSettings } from '#drivers/kubernetes/settings.ts';
import type { Observed, Workload } from '#drivers/workload.ts';
import type { Client } from '#kube/client.ts';
import { ensureUntil, removeFully, workloadOf } from '#test/fixtures/driver-host.ts';
import {
  createTestNamespace,
  type OpenedDriver,
  openDriver,
  type TestNamespace,
} from '#test/fixtures/kubernetes-driver/cluster.ts';
import { bundleVariants, podsOf, sampleWorkloads } from '#test/fixtures/kubernetes-driver/random-agents.ts';
import { testSettings } from '#test/fixtures/kubernetes-driver/settings.ts';
import { ensureImages } from '../../scripts/images/ensure.ts';
import { type Cluster, chooseProvider, startCluster } from './provider.ts';

const progress = (line: string) => process.stderr.write(`${line}\n`);
const provider = await chooseProvider();
const images = 'missing' in provider ? provider : await ensureImages(['agent', 'python', 'musl'], progress);

const python = 'localhost/ploinky/python:test';
const nodeServer =
  "require('http').createServer((q, s) => s.end('own')).listen(Number(process.env.PORT), '127.0.0.1')";

if ('missing' in images) test('pods of agents on a real cluster', { skip: images.missing });
else testPods(Object.values(images.archives));

function testPods(archives: readonly string[]): void {
  describe('pods of agents on a real cluster', { timeout: 570_000 }, () => {
    let cluster: Cluster;
    let storageClassName: string;
    let place: TestNamespace;
    let opened: OpenedDriver;
    let driver: Driver;
    before(async () => {
      const started = await startCluster({ keep: true, progress });
      if ('missing' in started) throw new Error(started.missing);
      cluster = started;
      storageClassName = await cluster.addVolumes(2);
      await cluster.loadImages(archives);
      place = await createTestNamespace(cluster.kubeconfig);
    });
    after(() => place?.close());
    beforeEach(() => open());
    afterEach(() => opened.close());

    function open(settings: Partial<PodSettings> = {}): Driver {
      opened = openDriver(place, { ...testSettings, ...settings });
      driver = opened.driver;
      return driver;
    }
    const workload = (change: Partial<Workload> = {}): Workload => {
      const plain = workloadOf(change);
      return { ...plain, id: { ...plain.id, namespace: place.name } };
    };
    const until = (wanted: Workload, isDone: (seen: Observed) => boolean, start = true) =>
      ensureUntil(driver, wanted, isDone, { start, timeoutMs: 90_000 });
    const isReady = (seen: Observed) => seen.current === seen.instances.length && seen.current > 0;
    const hasFault = (reason: string) => (seen: Observed) => seen.fault?.reason === reason;
    const runtime = (change: Partial<Workload['runtime']>) => ({ ...workloadOf().runtime, ...change });
    const withCommand = (...command: string[]): Partial<Workload> => {
      const { agentServer } = workloadOf();
      return {
        agentServer: { ...agentServer, command, env: { GREETING: 'a$(PATH)b$$' } },
        // These programs do not heed SIGTERM.
        podTemplate: { spec: { terminationGracePeriodSeconds: 2 } },
      };
    };
    const failing = (script: string) => withCommand('/Agent/bin/node', '-e', script);

    it('become Ready with the agent-server alone, and as a sidecar of a program', async () => {
      const alone = workload();
      const beside = workload(withCommand('/Agent/bin/node', '-e', nodeServer));
      const seen = await until(alone, isReady);
      assert.equal(seen.instances[0]?.ready, true);
      await until(beside, isReady);
      await Promise.all([removeFully(driver, alone), removeFully(driver, beside)]);
      assert.deepEqual(await place.leftovers(), []);
    });

    for (const bundle of ['ImageVolume', 'InitCopy'] as const) {
      it(`run in an image with Python alone (${bundle})`, async () => {
        await opened.close();
        open({ bundle });
        const wanted = workload({
          runtime: runtime({ image: python }),
          ...withCommand(
            'python3',
            '-c',
            'import os, time; assert os.environ["GREETING"] == "a$(PATH)b$$"; time.sleep(600)',
          ),
        });
        await until(wanted, isReady);
        await removeFully(driver, wanted);
      });
    }

    it('run in a musl image, or say that they cannot', async () => {
      const wanted = workload({ runtime: runtime({ image: 'localhost/ploinky/musl:test' }) });
      const seen = await until(wanted, (now) => isReady(now) || now.fault !== undefined);
      process.stderr.write(`# musl: ${JSON.stringify(seen.fault ?? 'Ready')}\n`);
      assert.ok(isReady(seen) || seen.fault?.reason === 'ImageNotSupported');
      await removeFully(driver, wanted);
    });

    const faults: Record<string, { change: () => Partial<Workload>; reason: string; says: RegExp }> = {
      'an image that is not there': {
        change: () => ({ runtime: runtime({ image: 'localhost/ploinky/none:test' }) }),
        reason: 'ImagePullFailed',
        says: /none:test/,
      },
      'a program that ends again and again': {
        change: () => failing("console.error('no database'); process.exit(3)"),
        reason: 'BackOff',
        says: /exit code 3[\s\S]*no database/,
      },
      'a program that is not in the image': {
        change: () => withCommand('/no/such/program'),
        reason: 'ContainerConfigError',
        says: /no such file/,
      },
      'more memory than the limit': {
        change: () => ({
          ...failing('const all = []; for (;;) all.push(Buffer.alloc(1e7, 1))'),
          runtime: runtime({
            resources: { limits: { memory: '128Mi' } },
            limits: { pids: 512, memoryBytes: 128 * 2 ** 20 },
          }),
        }),
        reason: 'OOMKilled',
        says: /more memory than its limit/,
      },
      'more memory than any node has': {
        change: () => ({ runtime: runtime({ resources: { requests: { memory: '1Ti' } } }) }),
        reason: 'Unschedulable',
        says: /Insufficient memory/,
      },
      'a volume of a class that is not there': {
        change: () => ({ storage: { retain: false, size: '1Gi', storageClassName: 'no-such-class' } }),
        reason: 'VolumePending',
        says: /workspace-0/,
      },
      'code from a ConfigMap that is not there': {
        change: () => ({ code: { type: 'configMap', name: 'no-such-map' } }),
        reason: 'ContainerConfigError',
        says: /no-such-map/,
      },
      'a quota that is used up': {
        change: () => ({
          runtime: runtime({
            resources: { requests: { 'example.test/gpu': '2' }, limits: { 'example.test/gpu': '2' } },
          }),
        }),
        reason: 'QuotaExceeded',
        says: /exceeded quota/,
      },
      'an install step that fails': {
        change: () => ({
          install: {
            command: ['/Agent/bin/node', '-e', "console.error('registry says no'); process.exit(5)"],
            env: {},
            egress: [],
            egressToken: 'install-canary',
            timeoutSeconds: 60,
            digest: 'd',
          },
        }),
        reason: 'InstallFailed',
        says: /exit code 5[\s\S]*registry says no/,
      },
    };

    it('say in words what is wrong with them', async () => {
      await place.client.create(
        { group: '', version: 'v1', kind: 'ResourceQuota', plural: 'resourcequotas', namespaced: true },
        {
          apiVersion: 'v1',
          kind: 'ResourceQuota',
          metadata: { name: 'gpus', namespace: place.name },
          spec: { hard: { 'requests.example.test/gpu': '1' } },
        } as never,
      );
      const tried = Object.entries(faults).map(async ([name, { change, reason, says }]) => {
        const wanted = workload(change());
        const begin = performance.now();
        const { fault } = await until(wanted, hasFault(reason)).catch((error: unknown) => {
          throw new Error(`${name}: ${String(error)}`);
        });
        process.stderr.write(`# ${name}: ${Math.round(performance.now() - begin)} ms: ${fault?.message}\n`);
        assert.match(fault?.message ?? '', says, name);
        await removeFully(driver, wanted);
      });
      for (const result of await Promise.allSettled(tried)) {
        if (result.status === 'rejected') throw result.reason;
      }
      assert.deepEqual(await place.leftovers(), []);
    });

    it('are given up between two starts, and keep their log', async () => {
      const wanted = workload(failing("console.error('last words'); process.exit(9)"));
      await until(wanted, (seen) => (seen.instances[0]?.restarts ?? 0) >= 1);
      const seen = await until(wanted, ({ phase }) => phase === 'Failed', false);
      assert.equal(seen.instances[0]?.exit?.code, 9);
      const lines: string[] = [];
      for await (const line of driver.logs(wanted.id, {})) lines.push(line);
      assert.ok(
        lines.some((line) => line.includes('last words')),
        lines.join('\n'),
      );
      await removeFully(driver, wanted);
    });

    it('are replaced one by one while as many as before stay Ready', async () => {
      const wanted = workload({ runtime: runtime({ replicas: 2 }) });
      await until(wanted, (seen) => seen.current === 2);
      const readies: number[] = [];
      const changed = { ...wanted, specHash: 'two' };
      const seen = await until(changed, (now) => {
        readies.push(now.instances.filter(({ ready, terminating }) => ready && !terminating).length);
        return now.specHash === 'two' && now.current === 2 && now.instances.length === 2;
      });
      assert.ok(Math.min(...readies) >= 2, readies.join());
      assert.deepEqual(
        seen.instances.map(({ name }) => name.replace(/-[^-]*$/, '')),
        [`${wanted.id.name}-0`, `${wanted.id.name}-1`],
      );
      const one = { ...changed, runtime: runtime({ replicas: 1 }) };
      const left = await until(one, (now) => now.instances.length === 1);
      assert.match(left.instances[0]?.name ?? '', /-0-[a-z0-9]{5}$/);
      await removeFully(driver, wanted);
    });

    it('are accepted by Pod Security as they are rendered: 100 random Agents', async () => {
      const pods = sampleWorkloads(100, 7).flatMap((one) => podsOf(one, bundleVariants));
      for (const pod of pods) {
        const { runtimeClassName: _runtime, priorityClassName: _priority, ...spec } = pod.spec;
        const metadata = { ...pod.metadata, namespace: place.name };
        const plain = { ...pod, metadata, spec: { ...spec, ...withoutResources(spec) } };
        await place.client.create(podResource, plain, { dryRun: true, fieldValidation: 'Strict' });
      }
      assert.ok(pods.length > 100, `only ${pods.length} pods`);
    });

    it('are made once, also by two controllers at the same time', async () => {
      const second = openDriver(place);
      const wanted = workload();
      await Promise.all([driver.list(), second.driver.list()]);
      await Promise.all([
        driver.ensure(wanted, { start: true }),
        second.driver.ensure(wanted, { start: true }),
      ]);
      const seen = await until(wanted, isReady);
      assert.equal(seen.instances.length, 1);
      const { items } = await place.client.list(podResource, { namespace: place.name });
      assert.equal(items.filter(({ metadata }) => metadata.name.startsWith(wanted.id.name)).length, 1);
      await removeFully(driver, wanted);
      await second.close();
    });

    it('keep their volume over a change of spec and over their Agent', async () => {
      const storage = { size: '1Gi', storageClassName, retain: true };
      const wanted = workload({ storage });
      await until(wanted, isReady);
      const claim = { namespace: place.name, name: `${wanted.id.name}-workspace-0` };
      const made = await place.client.get<PersistentVolumeClaim>(persistentVolumeClaimResource, claim);
      assert.deepEqual(made.metadata.ownerReferences, undefined);
      const live: number[] = [];
      const changed = { ...wanted, specHash: 'two' };
      await until(changed, (now) => {
        live.push(now.instances.filter(({ terminating }) => !terminating).length);
        return now.specHash === 'two' && isReady(now);
      });
      assert.equal(Math.max(...live), 1, 'the new pod came before the old one went');
      await removeFully(driver, changed, true);
      assert.deepEqual(await place.leftovers(), [`PersistentVolumeClaim/${claim.name}`]);
      const heir = {
        ...wanted,
        id: { ...wanted.id, uid: `${wanted.id.uid}-heir` },
        storage: { ...storage, retain: false },
      };
      await until(heir, isReady);
      const adopted = await place.client.get<PersistentVolumeClaim>(persistentVolumeClaimResource, claim);
      assert.equal(adopted.metadata.uid, made.metadata.uid);
      assert.equal(adopted.metadata.ownerReferences?.length, 1);
      await removeFully(driver, heir);
      assert.deepEqual(await place.leftovers(), []);
    });

    it('are taken away by force only when their node is declared out of service', async () => {
      const node = await silentNode();
      const podTemplate = {
        spec: {
          nodeSelector: { 'kubernetes.io/hostname': node },
          tolerations: [{ operator: 'Exists' as const }],
          terminationGracePeriodSeconds: 1,
        },
      };
      const wanted = workload({ podTemplate });
      await until(wanted, (seen) => seen.instances.length === 1);
      await untilScheduled(wanted.id.name);
      await driver.remove(wanted.id, { retain: false });
      const stuck = await until(wanted, hasFault('NodeLost'), false);
      assert.equal(stuck.instances[0]?.terminating, true);
      await cluster.kubectl(['taint', 'node', node, 'node.kubernetes.io/out-of-service=gone:NoExecute']);
      await removeFully(driver, wanted);
      await cluster.kubectl(['delete', 'node', node]);
    });

    /** A node that takes pods and whose kubelet never says a word. */
    async function silentNode(): Promise<string> {
      const name = `silent-${place.name}`;
      const capacity = { cpu: '4', memory: '8Gi', pods: '10', 'ephemeral-storage': '10Gi' };
      const labels = { 'kubernetes.io/hostname': name };
      const spec = { taints: [{ key: 'test.dev/silent', effect: 'NoSchedule' }] };
      const at = new Date().toISOString();
      const condition = { type: 'Ready', status: 'True', lastHeartbeatTime: at, lastTransitionTime: at };
      const status = { capacity, allocatable: capacity, conditions: [{ ...condition, reason: 'x' }] };
      const object = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, spec };
      await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
      const patch = JSON.stringify({ status });
      await cluster.kubectl(['patch', 'node', name, '--subresource=status', '--type=merge', '-p', patch]);
      return name;
    }

    async function untilScheduled(agent: string): Promise<void> {
      const selector = `ploinky.dev/agent=${agent}`;
      const wait = ['wait', '--for=condition=PodScheduled', '--timeout=60s', 'pod', '-l', selector];
      await cluster.kubectl([...wait, '-n', place.name]);
    }

    it('keep the code that they were made with while a change of it rolls out', async () => {
      const codeMaps = async (id: Workload['id']) => {
        const { items } = await place.client.list<ConfigMap>(configMapResource, {
          namespace: place.name,
          labelSelector: `ploinky.dev/agent=${id.name}`,
        });
        return items.map(({ metadata }) => metadata.name).sort();
      };
      const mountedBy = async (name = '') => {
        const { spec } = await place.client.get<Pod>(podResource, { namespace: place.name, name });
        return spec.volumes?.find((volume) => volume.name === 'ploinky-code')?.configMap?.name;
      };
      const printed = (pod = '') =>
        cluster.kubectl(['exec', '-n', place.name, pod, '-c', 'agent', '--', 'cat', '/code/tell.txt']);
      const code = (text: string): Workload['code'] => ({ type: 'inline', files: { 'tell.txt': text } });
      const one = workload({
        code: code('one'),
        podTemplate: { spec: { terminationGracePeriodSeconds: 5 } },
      });
      const two = { ...one, specHash: 'two', code: code('two') };
      const nameOf = (wanted: Workload) => codeConfigMapName(one.id.name, codeOf(wanted));
      const before = (await until(one, isReady)).instances[0];
      assert.deepEqual(await codeMaps(one.id), [nameOf(one)]);
      // The new pods cannot start: what serves has to stay as it is.
      const bad = { ...two, runtime: runtime({ image: 'localhost/ploinky/none:test' }) };
      const stuck = await until(bad, hasFault('ImagePullFailed'));
      assert.equal(stuck.instances.find(({ uid }) => uid === before?.uid)?.ready, true);
      assert.deepEqual(await codeMaps(one.id), [nameOf(one), nameOf(two)].sort());
      assert.equal(await mountedBy(before?.name), nameOf(one));
      assert.equal(await printed(before?.name), 'one');
      const good = { ...two, specHash: 'three' };
      const seen = await until(good, (now) => isReady(now) && now.specHash === 'three');
      assert.equal(await printed(seen.instances.find(({ terminating }) => !terminating)?.name), 'two');
      await until(good, ({ instances }) => instances.length === 1);
      await driver.ensure(good, { start: true });
      assert.deepEqual(await codeMaps(one.id), [nameOf(two)]);
      await removeFully(driver, good);
      assert.deepEqual(await place.leftovers(), []);
    });

    it('cost one write a child, and none when nothing changed', async () => {
      const writes: string[] = [];
      const counted = openDriver({ ...place, client: countWrites(place.client, writes) });
      const wanted = workload();
      const { id } = wanted;
      await ensureUntil(counted.driver, wanted, isReady, { timeoutMs: 60_000 });
      for (let round = 0; round < 3; round += 1) await counted.driver.ensure(wanted, { start: true });
      assert.deepEqual(writes.sort(), [
        `apply ConfigMap/${codeConfigMapName(id.name, codeOf(wanted))}`,
        `apply NetworkPolicy/${id.name}-agent`,
        `apply Secret/${id.name}-agent`,
        `create Pod/${id.name}-0`,
      ]);
      await removeFully(counted.driver, wanted);
      await counted.close();
    });
  });
}

/** What its inline code is in a ConfigMap; file names here need no other key. */
function codeOf({ code }: Workload): Readonly<Record<string, string>> {
  assert.ok(code?.type === 'inline');
  return code.files;
}

/** Names of classes and sizes of resources are the cluster's business, not Pod Security's. */
function withoutResources({ initContainers, containers }: PodSpec): Pick<PodSpec, 'containers'> {
  const strip = ({ resources: _resources, ...container }: Container): Container => container;
  return {
    containers: containers.map(strip),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(strip) }),
  };
}

/** The same client, which notes every write of a child as `verb Kind/name`, a pod's without its hash. */
function countWrites(client: Client, writes: string[]): Client {
  const note = (verb: string, { kind, metadata }: KubeObject) =>
    writes.push(`${verb} ${kind}/${kind === 'Pod' ? metadata.name.replace(/-[^-]*$/, '') : metadata.name}`);
  return new Proxy(client, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return (...args: readonly unknown[]) => {
        const [, object] = args;
        if (name === 'create' || name === 'apply' || name === 'update') note(name, object as KubeObject);
        if (name === 'patch') writes.push('patch');
        return Reflect.apply(method, target, args);
      };
    },
  });
}
