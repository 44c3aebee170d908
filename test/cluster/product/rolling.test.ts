import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '#api/meta.ts';
import type { Installed } from '#test/fixtures/place/install.ts';
import { openWayIn } from '#test/fixtures/place/way-in.ts';
import { chartFolder } from '../../../scripts/chart/helm.ts';
import { agent, isReady, type SeenAgent } from './agents.ts';
import { callTool } from './call.ts';
import { type Follower, follow } from './follow.ts';
import { type LoadPlan, type LoadReport, startLoad } from './load.ts';
import { type PreviousImage, previousImage } from './previous-bundle.ts';
import { installIn, missingCluster, openCluster, progress, type Space, seconds } from './product.ts';

/** An MCP server in a few lines: it starts no process for a call, so that the machine is not what is measured. */
const server = `
import { createServer } from 'node:http';
const by = 'by ' + process.env.HOSTNAME;
const tools = [{ name: 'who', description: 'Names its pod.', inputSchema: { type: 'object' } }];
const methods = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'who', version: '1' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call': () => ({ content: [{ type: 'text', text: by }] }),
};
createServer(async (request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end();
  const { id, method, params = {} } = JSON.parse(await new Response(request).text());
  if (id === undefined) return response.writeHead(202).end();
  const known = methods[method];
  const answer = { jsonrpc: '2.0', id, ...(known ? { result: known(params) } : { error: { code: -32601, message: 'no ' + method } }) };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}).listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
`;
const who = (replicas: number, version: string, name = 'who') =>
  agent(name, {
    command: ['node', '/code/server.mjs'],
    code: { inline: { 'server.mjs': server } },
    env: [{ name: 'VERSION', value: version }],
    mcp: { upstream: { port: 7001 } },
    runtime: { replicas },
  });
const slow = (replicas: number) =>
  agent('slow', {
    mcp: {
      maxParallelTasks: 2,
      tools: [
        { name: 'nap', description: 'Takes a while.', command: 'sleep 0.5; printf "by "; cat /etc/hostname' },
      ],
    },
    runtime: { replicas },
  });
const kinds = ['session', 'stateless', 'session', 'stateless', 'health'] as const;
const mixed = { agent: 'who', tool: 'who', expect: 'by who-', rate: 100, kinds } as const;
/** Its pods were made when the agent image was an earlier one. */
const former = { agent: 'former', tool: 'who', expect: 'by former-', rate: 20, kinds } as const;

describe('No call fails', { skip: missingCluster, timeout: 1_200_000 }, () => {
  let space: Space & Pick<Installed, 'remove'>;
  let agents: Follower<SeenAgent>;
  let folder: string;
  let previous: PreviousImage;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rolling-'));
    const cluster = await openCluster([]);
    previous = await previousImage(folder);
    if ('archive' in previous) await cluster.loadImages([previous.archive]);
    const set = 'missing' in previous ? [] : ['agentImage.repository=localhost/ploinky/agent-previous'];
    space = await installIn(cluster, 'rolling', { set });
    agents = follow<SeenAgent>(space, 'agents');
  });
  after(async () => {
    agents?.close();
    await space?.remove();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  /** Exactly so many instances, all of which take calls, none of a former spec. */
  const untilServed = (name: string, count: number, former: readonly string[] = []) =>
    agents.until(`${count} of ${name} serve`, (all) => {
      const seen = all.get(name);
      const endpoints = seen?.status?.endpoints ?? [];
      const isNew = endpoints.every((one) => !former.includes(one.name));
      return isReady(seen) && isNew && endpoints.length === count && endpoints.every((one) => one.ready);
    });
  const podsOf = async (component: string) =>
    (await space.list<KubeObject>('pods', `app.kubernetes.io/component=${component}`)).map(
      ({ metadata }) => metadata.name,
    );
  const instances = (name: string) =>
    agents.objects.get(name)?.status?.endpoints?.map((one) => one.name) ?? [];

  /** Calls while something happens, and a little before and after. */
  async function underLoad(
    name: string,
    act: () => Promise<void>,
    plan: LoadPlan = mixed,
  ): Promise<LoadReport> {
    const load = await startLoad(space, name, plan);
    await sleep(2_000);
    const began = performance.now();
    const outcome = await act().then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    progress(`# ${name}: done in ${seconds(began)}`);
    await sleep(3_000);
    const report = await load.stop();
    const { sent, failed, skipped, seconds: lasted, latency, slow, slowest, answeredBy } = report;
    progress(
      `# ${name}: ${JSON.stringify({ sent, failed, skipped, rate: sent / lasted, latency, slow, slowest, answeredBy })}`,
    );
    if (outcome !== undefined) throw outcome.error;
    assert.ok(sent / lasted > plan.rate / 2, `only ${sent} calls in ${lasted} s: the machine is too busy`);
    return report;
  }
  const assertNone = ({ sent, failed, failures }: LoadReport) => {
    assert.equal(failed, 0, `${failed} of ${sent} calls failed: ${JSON.stringify(failures, null, 1)}`);
  };

  const restartRouters = async () => {
    const before = await podsOf('router');
    assert.equal(before.length, 2);
    await space.kubectl('rollout', 'restart', 'deployment/ploinky-router');
    await space.kubectl('rollout', 'status', 'deployment/ploinky-router', '--timeout=240s');
    // The old ones drain; they are gone when they have.
    await space.kubectl('wait', '--for=delete', ...before.map((pod) => `pod/${pod}`), '--timeout=120s');
  };

  it('while the product is upgraded; agents go on with the agent-server that they have', async (t) => {
    const image = ['--set', 'agentImage.repository=localhost/ploinky/agent', '--reuse-values'];
    const upgrade = () =>
      space.cluster.helm(['upgrade', 'ploinky', chartFolder, '-n', space.namespace, '--wait', ...image]);
    if ('missing' in previous) {
      await upgrade();
      return t.skip(previous.missing);
    }
    await space.apply(who(2, 'one', 'former'));
    await untilServed('former', 2);
    const before = instances('former');
    const act = async () => {
      await upgrade();
      await restartRouters();
    };
    assertNone(await underLoad('upgrade', act, former));
    assert.deepEqual(instances('former').sort(), before.sort());
    const used = 'jsonpath={.items[*].spec.containers[*].image}';
    const images = await space.kubectl('get', 'pods', '-l', 'ploinky.dev/agent=former', '-o', used);
    assert.deepEqual(new Set(images.split(' ')), new Set([previous.tag]));
    await space.kubectl('delete', 'agent', 'former', '--wait=false');
  });

  it('while the routers are restarted one after the other', async () => {
    await space.apply(who(2, 'one'));
    await untilServed('who', 2);
    assertNone(await underLoad('restart-router', restartRouters));
  });

  it('while an agent without a volume gets another spec', async () => {
    const former = instances('who');
    const report = await underLoad('update', async () => {
      await space.apply(who(2, 'two'));
      await untilServed('who', 2, former);
    });
    assertNone(report);
    for (const name of [...former, ...instances('who')]) assert.ok((report.answeredBy[name] ?? 0) > 0, name);
  });

  it('while the leading controller hands over', async () => {
    const leader = async () =>
      (
        await space.kubectl('get', 'lease', 'ploinky-controller', '-o', 'jsonpath={.spec.holderIdentity}')
      ).split('_')[0] ?? '';
    const report = await underLoad('failover', async () => {
      const before = await leader();
      const began = performance.now();
      await space.kubectl('delete', 'pod', before, '--wait=false');
      for (let now = before; now === before || now === ''; now = await leader()) await sleep(100);
      progress(`# failover: another controller leads after ${seconds(began)}`);
      await space.kubectl('rollout', 'status', 'deployment/ploinky-controller', '--timeout=120s');
    });
    assertNone(report);
  });

  it('while an instance is deleted by hand', async () => {
    const [first = ''] = instances('who');
    const report = await underLoad('delete-pod', async () => {
      await space.kubectl('delete', 'pod', first, '--wait=false');
      await untilServed('who', 2, [first]);
    });
    assertNone(report);
  });

  it('when three instances become one and a hundred calls wait in their queues', async () => {
    await space.apply(slow(3));
    await untilServed('slow', 3);
    const way = await openWayIn(
      space.cluster,
      { namespace: space.namespace, name: 'ploinky-router', port: 80 },
      folder,
    );
    try {
      const began = performance.now();
      const calls = Array.from({ length: 100 }, () => callTool(`${way.url}/mcps/slow/mcp`, 'nap'));
      const outcomes = Promise.allSettled(calls);
      await sleep(1_000);
      await space.kubectl('scale', 'agent/slow', '--replicas=1');
      await untilServed('slow', 1);
      progress(`# scale: one instance after ${seconds(began)}`);
      const lost = (await outcomes).flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
      const by = Object.groupBy(
        (await outcomes).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
        (said) => said,
      );
      progress(
        `# scale: all answered after ${seconds(began)}: ${Object.entries(by).map(([said, all]) => `${all?.length} ${said}`)}`,
      );
      assert.deepEqual(lost, []);
      assert.equal(Object.keys(by).length, 3);
    } finally {
      await way.close();
    }
  });
});
