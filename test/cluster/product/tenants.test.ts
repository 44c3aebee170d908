import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { NetworkPolicy, Pod } from '#api/cluster-kinds.ts';
import type { Secret } from '#api/meta.ts';
import { systemRandom } from '#kit/random.ts';
import { connects, type End } from '#test/contract/driver/network-evaluator.ts';
import { type Installed, installProduct } from '#test/fixtures/place/install.ts';
import { openWayIn, type WayIn } from '#test/fixtures/place/way-in.ts';
import { mintInvocation } from '#wire/token.ts';
import { fakeNodePod } from '../fake-nodes.ts';
import type { Cluster } from '../provider.ts';
import { agent, type SeenAgent } from './agents.ts';
import { callTool, openSession, post, statelessCall } from './call.ts';
import { missingCluster, openCluster, openSpace, progress, type Space, seconds } from './product.ts';

const home = 'ploinky-system';
const tenants = ['team-a', 'team-b'] as const;
const hostOf = (tenant: string) => `${tenant}.example.test`;
const route = (host: string, name = 'door') => ({
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Route',
  metadata: { name },
  spec: { agents: [{ name: 'same' }], hosts: [host], mcp: { mode: 'Single' } },
});

/** What an agent's Secret holds of interest to a thief. */
interface Stolen {
  readonly agent: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly keys: readonly { readonly kid: string; readonly secret: string }[];
  readonly forwards: readonly { readonly target: string; readonly proxyAuthorization?: string }[];
}

// A cluster of its own: one controller for all namespaces is to be the only one.
describe('Two tenants with agents of the same name and role', {
  skip: missingCluster,
  timeout: 900_000,
}, () => {
  let cluster: Cluster;
  let installed: Installed;
  let folder: string;
  let way: WayIn;
  const spaces = {} as Record<'team-a' | 'team-b' | 'team-c', Space>;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tenants-'));
    cluster = await openCluster([], 'tenants');
    for (const name of [...tenants, 'team-c'] as const) {
      spaces[name] = openSpace(cluster, name);
      await cluster.kubectl(['create', 'namespace', name]);
      await cluster.kubectl(['label', 'namespace', name, 'pod-security.kubernetes.io/enforce=restricted']);
    }
    const claims = tenants.map((name) => `hostClaims.${name}={${hostOf(name)}}`);
    const set = [`agentNamespaces={${tenants.join(',')}}`, ...claims];
    installed = await installProduct(cluster, home, { scope: 'Cluster', set });
    way = await openWayIn(cluster, { namespace: home, name: 'ploinky-router', port: 80 }, folder);
    for (const name of tenants) {
      await spaces[name].apply(agent('same', { role: 'worker' }), route(hostOf(name)));
      await spaces[name].kubectl('wait', '--for=condition=Ready', 'agent/same', '--timeout=120s');
      await spaces[name].kubectl('wait', '--for=condition=Programmed', 'route/door', '--timeout=60s');
    }
  });
  after(async () => {
    await way?.close();
    await cluster?.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  const podOf = async (name: keyof typeof spaces): Promise<Pod> => {
    const [pod] = await spaces[name].list<Pod>('pods', 'ploinky.dev/agent=same');
    assert.ok(pod !== undefined);
    return pod;
  };
  const stolenFrom = async (name: keyof typeof spaces): Promise<Stolen> => {
    const secret = JSON.parse(
      await spaces[name].kubectl('get', 'secret', 'same-agent', '-o', 'json'),
    ) as Secret;
    return JSON.parse(Buffer.from(secret.data?.['config.json'] ?? '', 'base64').toString()) as Stolen;
  };
  /** Runs a few lines of Node in a pod. */
  const runIn = (namespace: string, pod: string, script: string, input: object) =>
    cluster.kubectl(['exec', '-n', namespace, pod, '--', 'node', '-e', script, JSON.stringify(input)]);

  it('each host leads to its own tenant’s agent', async () => {
    for (const name of tenants) {
      const said = await callTool(`${way.url}/mcp`, 'echo', { text: name }, { host: hostOf(name) });
      assert.match(said, new RegExp(`^${(await podOf(name)).metadata.name} `));
    }
    await assert.rejects(callTool(`${way.url}/mcps/same/mcp`, 'echo'), /404/);
  });

  it('a session that was opened at one host is unknown at the other', async () => {
    const session = await openSession(`${way.url}/mcp`, { host: hostOf('team-a') });
    const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const ask = async (name: string) =>
      (await post(`${way.url}/mcp`, { ...session, host: hostOf(name) }, message)).status;
    assert.equal(await ask('team-a'), 200);
    assert.equal(await ask('team-b'), 404);
  });

  it('a host of the other tenant, and one of nobody’s, cannot be claimed', async () => {
    await spaces['team-b'].apply(route(hostOf('team-a'), 'thief'), route('else.example.test', 'else'));
    for (const name of ['thief', 'else']) {
      const reason = 'jsonpath={.status.conditions[?(@.type=="Accepted")].reason}';
      await spaces['team-b'].kubectl(
        'wait',
        `--for=${reason}=HostNotAllowed`,
        `route/${name}`,
        '--timeout=60s',
      );
    }
    const said = await callTool(`${way.url}/mcp`, 'echo', {}, { host: hostOf('team-a') });
    assert.match(said, new RegExp(`^${(await podOf('team-a')).metadata.name} `));
  });

  it('the key of one agent is none for the other’s', async () => {
    const [a, b] = [await stolenFrom('team-a'), await stolenFrom('team-b')];
    assert.notDeepEqual(a.keys, b.keys);
    const target = await podOf('team-b');
    const routers = await openSpace(cluster, home).list<Pod>('pods', 'app.kubernetes.io/component=router');
    const call = statelessCall('echo', { text: 'stolen' });
    const send = async ({ keys: [key] }: Stolen) => {
      assert.ok(key !== undefined);
      const token = mintInvocation(
        { kid: key.kid, secret: Buffer.from(key.secret, 'base64url') },
        {
          agent: b.agent,
          instance: target.metadata.uid ?? '',
          caller: 'router:first-party',
          user: null,
          call: { tool: 'echo', arguments: { text: 'stolen' } },
          mcp: { revision: '2026-07-28' },
          now: Date.now(),
          random: systemRandom,
        },
      );
      const script = `
        const { url, headers, body } = JSON.parse(process.argv[1]);
        const response = await fetch(url, { method: 'POST', headers, body });
        console.log(response.status, await response.text());`;
      const headers = { ...call.headers, authorization: `Bearer ${token}` };
      const url = `http://${target.status?.podIP}:7000/mcp`;
      // From a router's pod: the agents' policy lets nobody else in.
      return runIn(home, routers[0]?.metadata.name ?? '', script, { url, headers, body: call.body });
    };
    assert.match(await send(b), /^200 .*stolen/);
    assert.match(await send(a), /Invocation rejected: jwtVerify: unknown key/);
  });

  it('the credential of one agent is none for the other’s at the egress proxy', async () => {
    const [a, b] = [await stolenFrom('team-a'), await stolenFrom('team-b')];
    const [mine = '', theirs = ''] = [a, b].map(
      ({ forwards }) => forwards.find((one) => one.proxyAuthorization !== undefined)?.proxyAuthorization,
    );
    const proxy = a.forwards.find((one) => one.proxyAuthorization !== undefined)?.target ?? '';
    const decode = (header: string) => Buffer.from(header.replace(/^Basic /, ''), 'base64').toString();
    const [, token] = /^[^:]+:(.*)$/.exec(decode(mine)) ?? [];
    const [, name] = /^([^:]+):/.exec(decode(theirs)) ?? [];
    const forged = `Basic ${Buffer.from(`${name}:${token}`).toString('base64')}`;
    const script = `
      const { proxy, authorization } = JSON.parse(process.argv[1]);
      const [host, port] = proxy.split(':');
      const options = { host, port, method: 'CONNECT', path: 'example.test:443', headers: { 'proxy-authorization': authorization } };
      require('http').request(options).on('connect', ({ statusCode }) => { console.log(statusCode); process.exit(); }).end();`;
    const pod = (await podOf('team-a')).metadata.name;
    const ask = async (authorization: string) =>
      (await runIn('team-a', pod, script, { proxy, authorization })).trim();
    // Known, and without a rule for that host.
    assert.equal(await ask(mine), '403');
    assert.equal(await ask(forged), '407');
  });

  it('their policies let no pod of one reach a pod of the other', async () => {
    const all = JSON.parse(await cluster.kubectl(['get', 'networkpolicies', '-A', '-o', 'json'])) as {
      items: NetworkPolicy[];
    };
    const end = ({ metadata, status }: Pod): End => ({
      address: status?.podIP ?? '',
      pod: {
        namespace: metadata.namespace ?? '',
        namespaceLabels: { 'kubernetes.io/metadata.name': metadata.namespace ?? '' },
        labels: metadata.labels ?? {},
      },
    });
    const [a, b] = [end(await podOf('team-a')), end(await podOf('team-b'))];
    const [routerPod] = await openSpace(cluster, home).list<Pod>(
      'pods',
      'app.kubernetes.io/component=router',
    );
    const router = routerPod && end(routerPod);
    assert.ok(router !== undefined && routerPod !== undefined);
    const policies = all.items.map((policy) => withNumbers(policy, routerPod));
    assert.equal(connects(policies, router, a, 7000), true);
    assert.equal(connects(policies, router, b, 7000), true);
    for (const port of [7000, 7001, 22]) {
      assert.equal(connects(policies, a, b, port), false);
      assert.equal(connects(policies, b, a, port), false);
    }
    assert.equal(connects(policies, a, router, 8081), true);
    assert.equal(connects(policies, a, { address: '203.0.113.7' }, 443), false);
  });

  it('a third one says which RoleBinding it lacks, and is Ready when that command was run', async () => {
    const third = spaces['team-c'];
    await third.apply(agent('same'));
    const ready = '{.status.conditions[?(@.type=="Ready")]';
    await third.kubectl('wait', `--for=jsonpath=${ready}.reason}=Forbidden`, 'agent/same', '--timeout=60s');
    const said = await third.kubectl('get', 'agent', 'same', '-o', `jsonpath=${ready}.message}`);
    progress(said);
    const command = /kubectl (create rolebinding \S+ -n team-c [^(]+) \(/.exec(said)?.[1];
    assert.ok(command !== undefined, said);
    const began = performance.now();
    await cluster.kubectl(command.split(' '));
    await third.kubectl('wait', '--for=condition=Ready', 'agent/same', '--timeout=120s');
    progress(`# Ready ${seconds(began)} after the RoleBinding`);
  });

  it('`kubectl drain` ends though a PodDisruptionBudget holds half of an agent’s instances', async () => {
    await cluster.addFakeNodes(2, { prefix: 'drained' });
    const space = spaces['team-a'];
    const spread = [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: { 'ploinky.dev/agent': 'spread' } },
      },
    ];
    const podTemplate = { spec: { ...fakeNodePod, topologySpreadConstraints: spread } };
    await space.apply(agent('spread', { runtime: { replicas: 2 }, podTemplate }), {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'spread' },
      spec: { maxUnavailable: '50%', selector: { matchLabels: { 'ploinky.dev/agent': 'spread' } } },
    });
    await untilCounted(space, 'spread', 2);
    // A share of what is expected is known by the Agent's scale subresource alone.
    assert.equal(await space.kubectl('get', 'pdb', 'spread', '-o', 'jsonpath={.status.expectedPods}'), '2');
    const [one] = await space.list<Pod>('pods', 'ploinky.dev/agent=spread');
    const first = one?.spec.nodeName ?? '';
    const began = performance.now();
    const said = await cluster.kubectl([
      'drain',
      first,
      '--ignore-daemonsets',
      '--delete-emptydir-data',
      '--timeout=120s',
    ]);
    progress(`# drained in ${seconds(began)}: ${said.trim().split('\n').at(-1)}`);
    await untilCounted(space, 'spread', 2);
    const pods = await space.list<Pod>('pods', 'ploinky.dev/agent=spread');
    assert.ok(pods.length === 2 && pods.every(({ spec }) => spec.nodeName !== first));
    await space.kubectl('delete', 'agent/spread', 'pdb/spread', '--timeout=60s');
  });

  it('after `helm uninstall` the agents go on, and their namespaces go within a minute', async () => {
    const seen = async () => (await podOf('team-a')).metadata.uid;
    const before = await seen();
    await cluster.helm(['uninstall', 'ploinky', '-n', installed.namespace, '--wait']);
    assert.equal(await seen(), before);
    for (const name of ['team-a', 'team-b', 'team-c', home]) {
      const began = performance.now();
      await cluster.kubectl(['delete', 'namespace', name, '--timeout=60s']);
      progress(`# namespace ${name} gone after ${seconds(began)}`);
    }
    const left = JSON.parse(await cluster.kubectl(['get', 'agents,routes', '-A', '-o', 'json'])) as {
      items: SeenAgent[];
    };
    assert.deepEqual(left.items, []);
  });
});

/**
 * Waits until a PodDisruptionBudget has counted so many healthy pods. Kubernetes' own controller finds out twice a
 * minute that there are Agents, and after a failure asks again at growing intervals, of minutes in the end; a change
 * of the budget makes it ask at once.
 */
async function untilCounted(space: Space, name: string, healthy: number): Promise<void> {
  const began = performance.now();
  const counted = `--for=jsonpath={.status.currentHealthy}=${healthy}`;
  for (let tries = 0; tries < 24; tries += 1) {
    const { code } = await space.tryKubectl('wait', counted, `pdb/${name}`, '--timeout=10s');
    if (code === 0) {
      progress(`# the budget counts ${healthy} after ${seconds(began)}`);
      return;
    }
    await space.kubectl('annotate', '--overwrite', `pdb/${name}`, `example.test/asked=${tries}`);
  }
  const state = await space.kubectl('get', 'agents,pods,pdb,events', '-o', 'yaml');
  assert.fail(`the budget never counted ${healthy} healthy pods:\n${state}`);
}

/** The policy with the numbers of ports that a pod has names for. */
function withNumbers(policy: NetworkPolicy, { spec }: Pod): NetworkPolicy {
  const ports = spec.containers.flatMap((container) => container.ports ?? []);
  const number = (key: string, value: unknown) =>
    key === 'port' ? (ports.find(({ name }) => name === value)?.containerPort ?? value) : value;
  return JSON.parse(JSON.stringify(policy, number)) as NetworkPolicy;
}
