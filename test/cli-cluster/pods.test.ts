import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { customResourceDefinitions } from '#api/crd.ts';
import { busyboxArchive, busyboxImage } from '#test/cluster/busybox.ts';
import { type Cluster, chooseProvider, startCluster } from '#test/cluster/provider.ts';
import { type Ploinky, ploinkyOf } from './ploinky.ts';
import { standInRouters } from './stand-in-router.ts';

// A cluster of its own, with pods that stand for routers and agents: what leads to pods is tried, not what is in them.

const provider = await chooseProvider();
const archive = await busyboxArchive();
const reason =
  'missing' in provider ? provider.missing : typeof archive === 'string' ? false : archive.missing;
const home = 'cli-home';

let cluster: Cluster;
let ploinky: Ploinky;

async function apply(...items: object[]): Promise<void> {
  await cluster.kubectl(['apply', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  });
}

async function waitReady(...names: string[]): Promise<void> {
  const pods = names.map((name) => `pod/${name}`);
  await cluster.kubectl(['wait', '-n', home, '--for=condition=Ready', '--timeout=60s', ...pods]);
}

/** Whether the condition came to hold within 30 s. */
async function eventually(condition: () => Promise<boolean> | boolean): Promise<boolean> {
  for (let tries = 0; tries < 120; tries++) {
    if (await condition()) return true;
    await sleep(250);
  }
  return false;
}

function agentPod(name: string, script: string): object {
  const container = (containerName: string, command: string) => ({
    name: containerName,
    image: busyboxImage,
    imagePullPolicy: 'IfNotPresent',
    command: ['sh', '-c', command],
  });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: home, labels: { 'ploinky.dev/agent': 'talker' } },
    spec: {
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      initContainers: [
        {
          ...container('agent-server', 'echo server of $HOSTNAME; exec sleep 1000'),
          restartPolicy: 'Always',
        },
      ],
      containers: [container('agent', script)],
    },
  };
}

describe('The command line on a cluster with pods', { timeout: 400_000, skip: reason }, () => {
  before(async () => {
    const found = await startCluster({ name: 'cli-test', progress: (line) => console.error(`# ${line}`) });
    if ('missing' in found) throw new Error(found.missing);
    cluster = found;
    if (typeof archive === 'string') await cluster.loadImages([archive]);
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: home } };
    await apply(namespace, ...customResourceDefinitions());
    await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s']);
    const agent = { name: 'talker', namespace: home };
    const tools = [{ name: 'say', command: 'echo hi' }];
    const api = 'ploinky.dev/v1alpha1';
    // Kinds that were just defined are not served at once.
    await eventually(async () => (await cluster.tryKubectl(['get', 'agents,routes'])).code === 0);
    await apply({ apiVersion: api, kind: 'Agent', metadata: agent, spec: { mcp: { tools } } });
    await apply(
      ...standInRouters(home, ['router-a', 'router-b']),
      agentPod('talker-0-aaaaa', 'echo began; n=0; while sleep 1; do n=$((n+1)); echo line $n; done'),
      agentPod('talker-1-bbbbb', 'echo about to fail; sleep 1; exit 3'),
    );
    await waitReady('router-a', 'router-b', 'talker-0-aaaaa');
    ploinky = ploinkyOf(cluster.kubeconfig, cluster.enter);
  });

  after(() => cluster?.close());

  it('calls tools by port-forward, with much to say in both directions', async () => {
    assert.match(await ploinky.must('-n', home, 'tools'), /where +Which pod/);
    assert.match(
      await ploinky.must('-n', home, 'call', 'where'),
      /^router-[ab] heard \d+ bytes for localhost:8080\n$/,
    );
    const size = 'x'.repeat(100_000);
    assert.match(
      await ploinky.must('-n', home, 'call', 'where', '-p', `size=${size}`),
      /heard 100\d{3} bytes/,
    );
  });

  it('serves several calls at once', async () => {
    const begun = performance.now();
    const calls = Array.from({ length: 3 }, () => ploinky.must('-n', home, 'call', 'slow'));
    assert.deepEqual(await Promise.all(calls), ['late\n', 'late\n', 'late\n']);
    // Each takes three seconds in the tool alone.
    assert.ok(performance.now() - begun < 60_000);
  });

  it('goes to another router when one is gone, and says so when none is left', async () => {
    await cluster.kubectl(['delete', 'pod', '-n', home, 'router-a', '--now']);
    assert.match(await ploinky.must('-n', home, 'call', 'where'), /^router-b heard/);
    await cluster.kubectl(['delete', 'pod', '-n', home, 'router-b', '--now']);
    const outcome = await ploinky.run('-n', home, 'call', 'where');
    assert.equal(outcome.code, 3);
    assert.match(outcome.stderr, /no router of Ploinky is in the cluster/);
    await apply(...standInRouters(home, ['router-a', 'router-b']));
    await waitReady('router-a', 'router-b');
  });

  it('tells of a namespace that no Route serves', async () => {
    const outcome = await ploinky.run('-n', 'kube-public', 'tools');
    assert.equal(outcome.code, 4);
    assert.match(
      outcome.stderr,
      new RegExp(`no Route serves the tools of namespace kube-public\\n.*only namespace ${home}`),
    );
  });

  it('shows the logs of all containers of all replicas in the order of their times', async () => {
    const text = await ploinky.must('-n', home, 'logs', 'talker');
    assert.match(text, /^\[talker-0-aaaaa\/agent-server\] server of talker-0-aaaaa$/m);
    assert.match(text, /^\[talker-1-bbbbb\/agent\] about to fail$/m);
    const timed = await ploinky.must('-n', home, 'logs', 'talker', '--timestamps', '--tail', '1000');
    const times = timed
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[1] ?? '');
    assert.ok(times.length > 3 && times.every((time) => /^\d{4}-\d\d-\d\dT/.test(time)), timed);
    assert.deepEqual(times, times.toSorted());
  });

  it('shows as many lines as asked for, of one container when one is named', async () => {
    const text = await ploinky.must('-n', home, 'logs', 'talker', '--tail', '2', '-c', 'agent-server');
    assert.deepEqual(text.trim().split('\n').sort(), [
      '[talker-0-aaaaa] server of talker-0-aaaaa',
      '[talker-1-bbbbb] server of talker-1-bbbbb',
    ]);
    const outcome = await ploinky.run('-n', home, 'logs', 'talker', '-c', 'nope');
    assert.equal(outcome.code, 4);
    assert.match(outcome.stderr, /There are .*agent-server/);
  });

  it('shows what a container wrote before it was started again', async () => {
    const restarted = await eventually(async () => {
      return (await ploinky.run('-n', home, 'logs', 'talker', '-p')).stdout.includes('about to fail');
    });
    assert.ok(restarted);
  });

  it('follows logs into pods that come later, without saying a line twice', async () => {
    const child = ploinky.start('-n', home, 'logs', 'talker', '-f', '--tail', '0');
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (data: string) => (text += data));
    try {
      assert.ok(await eventually(() => /talker-0-aaaaa\/agent\] line \d+/.test(text)), text);
      await apply(agentPod('talker-2-ccccc', 'echo here I am; exec sleep 1000'));
      assert.ok(await eventually(() => text.includes('[talker-2-ccccc/agent] here I am')), text);
      const lines = text.split('\n').filter((line) => /talker-0.*line/.test(line));
      assert.equal(new Set(lines).size, lines.length, text);
      assert.doesNotMatch(text, /began/);
    } finally {
      child.kill('SIGINT');
    }
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
  });

  it('shows the logs of the routers', async () => {
    await ploinky.must('logs', '--process', 'router');
    const outcome = await ploinky.run('logs', '--process', 'watchdog');
    assert.equal(outcome.code, 2);
    assert.match(outcome.stderr, /Use one of controller, router, egress/);
  });
});

describe('Somebody without rights', { timeout: 200_000, skip: reason }, () => {
  it('is told which ones are missing', { todo: 'with a service account of the chart' }, () => undefined);
});
