import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '#api/cluster-kinds.ts';
import type { KubeObject } from '#api/meta.ts';
import { installProduct } from '#test/fixtures/place/install.ts';
import { fakeNodePod } from '../fake-nodes.ts';
import type { Cluster } from '../provider.ts';
import { run } from '../run.ts';
import { agent, conditionOf, isReady, type SeenAgent } from './agents.ts';
import { type Follower, follow } from './follow.ts';
import { missingCluster, openCluster, openSpace, progress, type Space, seconds } from './product.ts';

const home = 'ploinky-system';
const childKinds = 'pods,secrets,configmaps,networkpolicies';
const crowd = 50;

// A cluster of its own: its parts are ended, and its nodes vanish.
describe('After a fault everything is as without it', { skip: missingCluster, timeout: 1_200_000 }, () => {
  let cluster: Cluster;
  let space: Space;
  let agents: Follower<SeenAgent>;
  let pods: Follower<Pod>;
  before(async () => {
    cluster = await openCluster([], 'faults');
    await installProduct(cluster, home, { scope: 'Cluster' });
    space = openSpace(cluster, home);
    await cluster.addFakeNodes(2);
    agents = follow<SeenAgent>(space, 'agents');
    pods = follow<Pod>(space, 'pods', 'ploinky.dev/agent');
    await space.apply(agent('steady', { code: { inline: { a: 'b' } } }));
    await agents.until('steady is Ready', (all) => isReady(all.get('steady')));
  });
  after(async () => {
    agents?.close();
    pods?.close();
    await cluster?.close();
  });

  const podsOf = (name: string) =>
    [...pods.objects.values()].filter(({ metadata }) => metadata.labels?.['ploinky.dev/agent'] === name);
  const leader = async () =>
    await space.kubectl('get', 'lease', 'ploinky-controller', '-o', 'jsonpath={.spec.holderIdentity}');
  /** Children as they are called without what differs from run to run. */
  const children = async (prefix: string) =>
    (await space.list<KubeObject>(childKinds, 'ploinky.dev/agent'))
      .filter(({ metadata }) => metadata.name.startsWith(prefix))
      .map(({ kind, metadata: { name } }) => `${kind}/${kind === 'Pod' ? name.replace(/-[^-]*$/, '') : name}`)
      .sort();
  const local = () => {
    if (cluster.local === undefined) throw new Error('checked before');
    return cluster.local;
  };

  /** Makes fifty agents, whose pods run on simulated nodes, and returns their children when all pods run. */
  async function createCrowd(
    prefix: string,
    meanwhile: (made: () => number) => Promise<void>,
  ): Promise<string[]> {
    const names = Array.from({ length: crowd }, (_, index) => `${prefix}${index}`);
    const made = () => names.filter((name) => podsOf(name).length > 0).length;
    const began = performance.now();
    const applied = eventually(() =>
      space.apply(...names.map((name) => agent(name, { podTemplate: { spec: fakeNodePod } }))),
    );
    await Promise.all([applied, meanwhile(made)]);
    await pods.until(
      `all pods of ${prefix} run`,
      () => names.every((name) => podsOf(name).some(({ status }) => status?.phase === 'Running')),
      180_000,
    );
    progress(`# ${crowd} agents have pods after ${seconds(began)}`);
    // What comes late would come now.
    await sleep(5_000);
    const found = await children(prefix);
    for (const name of names) assert.equal(podsOf(name).length, 1, name);
    await space.kubectl('delete', 'agents', ...names, '--timeout=120s');
    await pods.until(`the pods of ${prefix} are gone`, () => made() === 0);
    assert.deepEqual(await children(prefix), []);
    return found.map((child) => child.replace(prefix, ''));
  }
  let expected: string[] = [];

  it('fifty agents without a fault: what is there then', async () => {
    expected = await createCrowd('calm-', async () => undefined);
    assert.equal(expected.length, crowd * 3, `Secret, NetworkPolicy and Pod each: ${expected.slice(0, 8)}`);
  });

  it('the leading controller is killed in the middle of fifty', async (t) => {
    if (cluster.local === undefined) return t.skip('only the local provider can kill a container’s process');
    const found = await createCrowd('killed-', async (made) => {
      const before = await leader();
      await pods.until('some pods are made', () => made() >= 5);
      const [name = ''] = before.split('_');
      const field = 'jsonpath={.status.containerStatuses[0].containerID}';
      const id = (await space.kubectl('get', 'pod', name, '-o', field)).replace('containerd://', '');
      const socket = `${local().folder}/containerd.sock`;
      await run([
        `${local().folder}/bin/ctr`,
        '-a',
        socket,
        '-n',
        'k8s.io',
        'tasks',
        'kill',
        '-s',
        'SIGKILL',
        id,
      ]);
      const began = performance.now();
      progress(`# killed with ${made()} of ${crowd} made`);
      for (let now = before; now === before; now = await leader()) await sleep(200);
      progress(`# another controller leads after ${seconds(began)}`);
    });
    assert.deepEqual(found, expected);
  });

  it('the API server restarts in the middle of fifty', async (t) => {
    if (cluster.local === undefined) return t.skip('only the local provider can restart the API server');
    const steady = podsOf('steady').map(({ metadata }) => metadata.uid);
    const found = await createCrowd('apiserver-', async (made) => {
      await pods.until('some pods are made', () => made() >= 5);
      await local().restart('apiserver');
    });
    assert.deepEqual(found, expected);
    assert.deepEqual(
      podsOf('steady').map(({ metadata }) => metadata.uid),
      steady,
    );
  });

  it('etcd forgets its past while the API server is away, so that every watch gets 410', async (t) => {
    if (cluster.local === undefined) return t.skip('only the local provider can compact etcd');
    await local().stop('apiserver');
    await local().compact();
    await local().start('apiserver');
    const began = performance.now();
    await eventually(() => space.apply(agent('later')));
    await agents.until('an agent that was made then is Ready', (all) => isReady(all.get('later')));
    progress(`# an agent made after it is Ready after ${seconds(began)}`);
    await space.kubectl('delete', 'agent', 'later', '--timeout=60s');
  });

  it('children that somebody deletes are made again', async () => {
    const table: string[] = [];
    const [code] = await space.list('configmap', 'ploinky.dev/agent=steady');
    const children = [
      'secret/steady-agent',
      'networkpolicy/steady-agent',
      `configmap/${code?.metadata.name}`,
    ];
    for (const child of children) {
      const began = performance.now();
      const uid = () => space.tryKubectl('get', child, '-o', 'jsonpath={.metadata.uid}');
      const { stdout: before } = await uid();
      await space.kubectl('delete', child);
      for (let now = await uid(); now.stdout === '' || now.stdout === before; now = await uid()) {
        assert.ok(performance.now() - began < 60_000, `${child} is not made again`);
      }
      table.push(`| ${child} | ${seconds(began)} |`);
    }
    const [first] = podsOf('steady');
    const began = performance.now();
    await space.kubectl('delete', 'pod', first?.metadata.name ?? '');
    await agents.until('steady has another pod', (all) => {
      const endpoints = all.get('steady')?.status?.endpoints ?? [];
      return endpoints.length === 1 && endpoints[0]?.ready && endpoints[0].uid !== first?.metadata.uid;
    });
    table.push(`| the pod, until another is Ready | ${seconds(began)} |`);
    progress(`| deleted | there again after |\n|---|---|\n${table.join('\n')}`);
    assert.equal(
      podsOf('steady').filter(({ metadata }) => metadata.deletionTimestamp === undefined).length,
      1,
    );
  });

  it('a policy that somebody opens is closed again', async () => {
    const open = [{ op: 'replace', path: '/spec/ingress', value: [{}] }];
    const look = () =>
      space.kubectl('get', 'networkpolicy', 'steady-agent', '-o', 'jsonpath={.spec.ingress}');
    const before = await look();
    await space.kubectl('patch', 'networkpolicy', 'steady-agent', '--type=json', '-p', JSON.stringify(open));
    const began = performance.now();
    while ((await look()) !== before) assert.ok(performance.now() - began < 60_000, 'it stays open');
    progress(`# the policy is as it was after ${seconds(began)}`);
  });

  it('a node falls silent: its agents say so; a volume’s only pod is replaced when the node is deleted, not before', async (t) => {
    if (cluster.local === undefined) return t.skip('only the local provider can begin kwok anew');
    const tolerations = [
      ...fakeNodePod.tolerations,
      {
        key: 'node.kubernetes.io/unreachable',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 2,
      },
    ];
    const podTemplate = { spec: { ...fakeNodePod, tolerations, terminationGracePeriodSeconds: 1 } };
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(anywhere()) });
    const storage = { size: '10Mi', storageClassName: 'anywhere', retain: false };
    await space.apply(agent('bound', { podTemplate, storage }), agent('free', { podTemplate }));
    const running = await pods.until('both run', () => {
      const found = ['bound', 'free'].map((name) =>
        podsOf(name).find(({ status }) => status?.phase === 'Running'),
      );
      return found.every((pod) => pod !== undefined) && (found as Pod[]);
    });
    const nodes = new Set(running.map(({ spec }) => spec.nodeName ?? ''));
    const uidOf = (name: string) => running[name === 'bound' ? 0 : 1]?.metadata.uid;
    if (nodes.size === 2) await cluster.addFakeNodes(1, { prefix: 'spare' });
    const began = performance.now();
    const told: string[] = [];
    agents.onChange((_, seen) => {
      const ready = seen.metadata.name === 'bound' ? conditionOf(seen, 'Ready') : undefined;
      const line = `${ready?.status} ${ready?.reason}: ${ready?.message}`;
      if (ready !== undefined && !told.at(-1)?.endsWith(line)) told.push(`${seconds(began)} ${line}`);
    });
    const silence = async () => {
      for (const node of nodes) await cluster.setFakeNodeReady(node, false);
    };
    await silence();
    // A kwok that had these nodes goes on with their heartbeats.
    await local().restart('kwok');
    await silence();
    const said = await agents.until(
      'bound says that its node is lost',
      (all) => {
        const condition = conditionOf(all.get('bound'), 'Ready');
        return condition?.reason === 'NodeLost' && condition;
      },
      180_000,
    );
    progress(`# NodeLost after ${seconds(began)}: ${said.message}`);
    await pods.until(
      'free has another pod',
      () =>
        podsOf('free').some(
          ({ metadata, status }) => metadata.uid !== uidOf('free') && status?.phase === 'Running',
        ),
      180_000,
    );
    progress(`# the one without a volume runs elsewhere after ${seconds(began)}`);
    await pods.until(
      'bound is told to end',
      () => podsOf('bound').some(({ metadata }) => metadata.deletionTimestamp !== undefined),
      180_000,
    );
    // Well past the time at which it should be gone: nobody knows whether it still writes.
    await sleep(35_000);
    assert.deepEqual(
      podsOf('bound').map(({ metadata }) => metadata.uid),
      [uidOf('bound')],
    );
    const deleted = performance.now();
    for (const node of nodes) await cluster.kubectl(['delete', 'node', node]);
    await pods.until(
      'bound has another pod',
      () =>
        podsOf('bound').some(
          ({ metadata, status }) => metadata.uid !== uidOf('bound') && status?.phase === 'Running',
        ),
      180_000,
    );
    progress(`# its pod is replaced ${seconds(deleted)} after the node was deleted`);
    assert.equal(podsOf('bound').length, 1);
    progress(told.map((line) => `# bound said after ${line}`).join('\n'));
    await space.kubectl('delete', 'agents', 'bound', 'free', '--timeout=90s');
  });
});

async function eventually(act: () => Promise<void>): Promise<void> {
  const began = performance.now();
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (performance.now() - began > 30_000) throw error;
      await sleep(500);
    }
  }
}

/** A class with one volume that no node holds on to. */
function anywhere(): object {
  const name = 'anywhere';
  const items = [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: name,
        persistentVolumeReclaimPolicy: 'Retain',
        hostPath: { path: '/tmp' },
      },
    },
  ];
  return { apiVersion: 'v1', kind: 'List', items };
}
