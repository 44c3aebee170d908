import type { Agent } from '#api/agent.ts';
import { agentResource } from '#api/resources.ts';
import type { Bench } from '../harness/bench.ts';
import { type Scope, until } from '../harness/scope.ts';
import { agentNumber, inParallel, removeAgents } from './agents.ts';
import { type ByteProxy, startByteProxy } from './byte-proxy.ts';
import { type Program, startRouter } from './programs.ts';
import type { Stage } from './stage.ts';

export interface TablesOptions {
  readonly agents: number;
  readonly routers: number;
}

interface Follower {
  readonly router: Program;
  readonly proxy: ByteProxy;
}

interface Facts {
  readonly name: string;
  readonly seconds: number;
  readonly receivedMiB: number;
  readonly residentMiB: number;
  readonly peakMiB: number;
  readonly cpuSeconds: number;
}

const mebibyte = 1_048_576;
const namespace = 'bench-tables';

/** Routers that follow many Agents, which nobody runs: the bench says where they answer, as a controller would. */
export function tablesBench(stage: () => Stage, { agents, routers }: TablesOptions): Bench {
  return {
    name: 'cluster-tables',
    about: `${agents} Agents and ${routers} routers: memory of each, and bytes of their watches`,
    goals: [],
    async run(scope) {
      const here = stage();
      await here.makeNamespace(namespace);
      const followers = await Promise.all(
        Array.from({ length: routers }, (_, index) => startFollower(scope, here, `bench-router-${index}`)),
      );
      const empty = await Promise.all(followers.map(({ router }) => router.heap()));
      const before = followers.map(({ proxy }) => proxy.received());
      const created = await timed(() => createAll(here, agents));
      const published = await timed(() => publishAll(here, created.result));
      const caughtUp = await timed(() => Promise.all(followers.map((one) => untilQuiet(one.proxy))));
      const seconds = created.seconds + published.seconds + caughtUp.seconds;
      const facts = await Promise.all(
        followers.map((one, index) => factsOf(`followed, ${index + 1}`, one, seconds, before[index] ?? 0)),
      );
      facts.push(await measureLate(scope, here));
      await Promise.all(followers.map(({ router }) => router.stop()));
      await removeAgents(here, namespace);
      return {
        tables: [
          {
            title: `Routers that follow ${agents} Agents`,
            columns: [
              'router',
              'seconds',
              'MiB received',
              'bytes an Agent',
              'MiB resident',
              'at most',
              'CPU s',
            ],
            rows: facts.map((one) => [
              one.name,
              one.seconds,
              one.receivedMiB,
              (one.receivedMiB * mebibyte) / agents,
              one.residentMiB,
              one.peakMiB,
              one.cpuSeconds,
            ]),
          },
          {
            title: 'Meanwhile',
            columns: ['', 'value'],
            rows: [
              ['seconds to create the Agents', created.seconds],
              ['seconds to say where they answer', published.seconds],
              ['seconds until the routers had it all', caughtUp.seconds],
              ['MiB resident: a router without Agents', (empty[0]?.rss ?? Number.NaN) / mebibyte],
            ],
          },
        ],
        goals: [],
        samples: { facts, empty, created: created.seconds, published: published.seconds },
        notes: [
          'Those that followed got each Agent twice: created, and with its endpoint. The late one listed them.',
          'Resident is after a collection. Bytes are those of the TLS connection.',
        ],
      };
    },
  };
}

async function startFollower(scope: Scope, stage: Stage, name: string): Promise<Follower> {
  const proxy = await startByteProxy(scope, stage.account);
  const router = await startRouter(scope, stage, { name, apiPort: proxy.port });
  await until('the router has a table', async () => (await router.isReady()) || undefined, 60_000);
  return { router, proxy };
}

async function createAll({ client }: Stage, count: number): Promise<Agent[]> {
  const made: Agent[] = [];
  await inParallel({ count }, async (index) => {
    made.push(await client.create<Agent>(agentResource, agentNumber(namespace, index)));
  });
  return made;
}

/** With as much as a Ready Agent's status has. */
async function publishAll({ client }: Stage, agents: readonly Agent[]): Promise<void> {
  await inParallel({ count: agents.length }, async (index) => {
    const agent = agents[index];
    if (agent === undefined) return;
    const { name, uid = '' } = agent.metadata;
    const address = `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}:7000`;
    const endpoint = { name: `${name}-0-aaaaaaaa`, uid, address, terminating: false, ready: true };
    const status = {
      observedGeneration: 1,
      replicas: 1,
      restarts: 0,
      runtime: 'Pod',
      selector: `ploinky.dev/agent=${name}`,
      toolCount: 1,
      toolsDigest: 'sha256:bench',
      agentServerVersion: '0.0.0',
      endpoints: [endpoint],
      conditions: ['Accepted', 'Ready', 'Progressing', 'Degraded', 'Halted'].map((type) => ({
        type,
        status: 'True' as const,
        reason: 'Bench',
        message: 'The agent answers, says the bench.',
        observedGeneration: 1,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
    };
    await client.applyStatus<Agent>(agentResource, agent, status, {
      fieldManager: 'ploinky-agent-controller',
    });
  });
}

/** Until nothing came for a second; Leases are renewed every fifteen. */
async function untilQuiet(proxy: ByteProxy): Promise<void> {
  let last = -1;
  await until(
    'the watch is quiet',
    async () => {
      const now = proxy.received();
      const isQuiet = now - last < 2_000;
      last = now;
      if (isQuiet) return true;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return undefined;
    },
    60_000,
  );
}

/** One that starts when all is there, as after a rolling update. */
async function measureLate(scope: Scope, stage: Stage): Promise<Facts> {
  const started = await timed(() => startFollower(scope, stage, 'bench-router-late'));
  const facts = await factsOf('started late', started.result, started.seconds, 0);
  await started.result.router.stop();
  return facts;
}

async function factsOf(
  name: string,
  { router, proxy }: Follower,
  seconds: number,
  before: number,
): Promise<Facts> {
  const { peakMiB, cpuSeconds } = router.usage();
  const { rss } = await router.heap();
  return {
    name,
    seconds,
    receivedMiB: (proxy.received() - before) / mebibyte,
    residentMiB: rss / mebibyte,
    peakMiB,
    cpuSeconds,
  };
}

async function timed<T>(act: () => Promise<T>): Promise<{ readonly result: T; readonly seconds: number }> {
  const begun = performance.now();
  const result = await act();
  return { result, seconds: (performance.now() - begun) / 1000 };
}
