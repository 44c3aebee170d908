import { type Scope, until } from '../harness/scope.ts';
import { type Both, openGround, type SoakGround, type Standings } from './ground.ts';
import type { SoakLoadDone } from './order.ts';

export interface SoakOrder {
  /** Of both loads together. */
  readonly sessions: number;
  readonly calls: number;
  /** Sessions at once; half of each wave is left to expire while the next one comes. */
  readonly live: number;
  readonly connections: number;
  /** Milliseconds until a session that is not used ends. Longer than one round of calls in all of them takes. */
  readonly idleMs: number;
  /** Connections between router and agent-server are kept for two minutes; whether their end is waited for. */
  readonly untilIdle: boolean;
  readonly progress?: (line: string) => void;
}

export interface SoakOutcome {
  readonly calls: number;
  readonly sessions: number;
  readonly failed: number;
  readonly failures: readonly string[];
  readonly callSeconds: number;
  /** Sessions of the upstream, and streams, in each wave when all of its sessions were open. */
  readonly waves: readonly { readonly sessions: number; readonly streams: number }[];
  /** Of the upstream at the end: the agent-server has one session, with a stream, for everybody. */
  readonly left: { readonly sessions: number; readonly streams: number };
  readonly kibEach: KibEach;
  readonly bare: Standings;
  /** After a wave that nobody counts. */
  readonly start: Standings;
  /** At the end of the loads, when their sessions have ended. */
  readonly after: readonly [Standings, Standings];
  readonly peakMiB: Both;
  /** CPU that a call in an open session took. */
  readonly micros: Both;
}

/** Memory of both processes together that one more session took, with and without a stream of its upstream; KiB. */
export interface KibEach {
  readonly session: number;
  readonly withStream: number;
  /** The same in their heaps alone. */
  readonly sessionHeap: number;
  readonly withStreamHeap: number;
}

const paths = ['/mcp', '/mcps/soak/mcp'];
/** So many sessions have one client that holds its own stream open. */
const streamEvery = 50;
const settleMs = 300_000;
/** Agent-servers keep idle connections of routers for two minutes. */
const idleConnectionsMs = 150_000;

/** Two equal loads after each other, with what router and agent-server hold before, between and after them. */
export async function runSoak(scope: Scope, order: SoakOrder): Promise<SoakOutcome> {
  const ground = await openGround(scope, { idleMs: order.idleMs, live: order.live * 4 });
  const tally = new Tally();
  const bare = await ground.look();
  const kibEach = await measureEach(ground, order, tally);
  const start = await settle(ground, order, bare);
  tally.reset();
  const first = await load(ground, order, tally, bare);
  const second = await load(ground, order, tally, bare);
  const { sessions, streams } = await ground.count();
  return {
    ...tally.sums(),
    left: { sessions, streams },
    kibEach,
    bare,
    start,
    after: [first, second],
  };
}

/** What a session costs, and what one with a stream: waves of open sessions without and with them. */
async function measureEach(ground: SoakGround, order: SoakOrder, tally: Tally): Promise<KibEach> {
  // What runs for the first time costs memory, too, and no session is to blame.
  await wave(ground, order, callsEach(order), tally);
  const sizes: { rss: number; heap: number }[] = [];
  for (const withStreams of [false, true]) {
    await sessionsGone(ground);
    await ground.takeStreams(withStreams);
    const before = sumsOf(await ground.look());
    let within = before;
    await wave(ground, order, 2, tally, async () => {
      within = sumsOf(await ground.look());
    });
    const each = (name: 'rss' | 'heap') => ((within[name] - before[name]) * 1024) / order.live;
    sizes.push({ rss: each('rss'), heap: each('heap') });
  }
  const [without, withStream] = sizes;
  return {
    session: without?.rss ?? Number.NaN,
    withStream: withStream?.rss ?? Number.NaN,
    sessionHeap: without?.heap ?? Number.NaN,
    withStreamHeap: withStream?.heap ?? Number.NaN,
  };
}

function callsEach({ calls, sessions }: SoakOrder): number {
  return Math.round(calls / sessions);
}

async function load(ground: SoakGround, order: SoakOrder, tally: Tally, bare: Standings): Promise<Standings> {
  let left = Math.round(order.sessions / 2);
  while (left > 0) {
    const live = Math.min(left, order.live);
    left -= live;
    await wave(ground, { ...order, live }, callsEach(order), tally);
    order.progress?.(`${tally.sums().calls} calls, ${tally.sums().failed} failed`);
  }
  return settle(ground, order, bare);
}

/** Opens sessions, calls in each so often, and ends half of them. */
async function wave(
  ground: SoakGround,
  { live, connections }: SoakOrder,
  each: number,
  tally: Tally,
  whenOpen: () => Promise<void> = async () => undefined,
): Promise<void> {
  await ground.tell({ type: 'connect', port: ground.port, connections });
  tally.addSessions(await ground.tell({ type: 'open', sessions: live, paths, streamEvery }));
  await whenOpen();
  tally.addWave(await ground.count(), await ground.look());
  const before = ground.cpu();
  const done = await ground.tell({ type: 'call', each: each - 1 });
  tally.addCalls(done);
  tally.addCpu(before, ground.cpu(), done.done);
  tally.addFailures(await ground.tell({ type: 'end' }));
  await ground.tell({ type: 'disconnect' });
}

/** But for the one that the agent-server itself keeps. */
function sessionsGone(ground: SoakGround): Promise<unknown> {
  const ask = async () => ((await ground.count()).sessions <= 1 ? true : undefined);
  return until('all sessions of clients have ended', ask, settleMs);
}

/** Waits, where it is asked for, until as few descriptors are open as in the beginning. */
async function settle(ground: SoakGround, order: SoakOrder, bare: Standings): Promise<Standings> {
  await sessionsGone(ground);
  const ask = async () => {
    const { router, agentServer } = ground.descriptors();
    const isIdle = router <= bare.router.descriptors && agentServer <= bare.agentServer.descriptors + 1;
    return isIdle || undefined;
  };
  // What stays open is a result: it is looked at, not thrown.
  if (order.untilIdle)
    await until('idle connections are closed', ask, idleConnectionsMs).catch(() => undefined);
  return ground.look();
}

function sumsOf({ router, agentServer }: Standings): { rss: number; heap: number } {
  return { rss: router.rssMiB + agentServer.rssMiB, heap: router.heapMiB + agentServer.heapMiB };
}

class Tally {
  #peak: Both = { router: 0, agentServer: 0 };
  #cpu = { router: 0, agentServer: 0, calls: 0 };
  #sessions = 0;
  #calls = 0;
  #failed = 0;
  #seconds = 0;
  #failures: string[] = [];
  #waves: { sessions: number; streams: number }[] = [];

  /** What failed before still counts. */
  reset(): void {
    this.#sessions = 0;
    this.#calls = 0;
    this.#seconds = 0;
    this.#waves = [];
    this.#cpu = { router: 0, agentServer: 0, calls: 0 };
  }

  addCpu(before: Both, after: Both, calls: number): void {
    this.#cpu.router += after.router - before.router;
    this.#cpu.agentServer += after.agentServer - before.agentServer;
    this.#cpu.calls += calls;
  }

  /** Each session begins with a call. */
  addSessions(done: SoakLoadDone): void {
    this.#sessions += done.done;
    this.addCalls(done);
  }

  addCalls(done: SoakLoadDone): void {
    this.#calls += done.done;
    this.addFailures(done);
  }

  addFailures({ failed, failures, seconds }: SoakLoadDone): void {
    this.#failed += failed;
    this.#seconds += seconds;
    this.#failures.push(...failures);
  }

  addWave({ sessions, streams }: { sessions: number; streams: number }, now: Standings): void {
    this.#waves.push({ sessions, streams });
    const { router, agentServer } = this.#peak;
    this.#peak = {
      router: Math.max(router, now.router.rssMiB),
      agentServer: Math.max(agentServer, now.agentServer.rssMiB),
    };
  }

  sums() {
    return {
      sessions: this.#sessions,
      calls: this.#calls,
      failed: this.#failed,
      failures: this.#failures.slice(0, 5),
      peakMiB: this.#peak,
      micros: {
        router: this.#cpu.router / this.#cpu.calls,
        agentServer: this.#cpu.agentServer / this.#cpu.calls,
      },
      callSeconds: this.#seconds,
      waves: this.#waves,
    };
  }
}
