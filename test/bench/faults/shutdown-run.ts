import { type Scope, until } from '../harness/scope.ts';
import { askStateless, askWithSession, type PendingAsk } from './asking.ts';
import { Caller, Tally } from './caller.ts';
import { type FaultGround, openFaultGround, untilReady } from './ground.ts';
import type { HeldRouter } from './holder.ts';
import { KeptStream } from './kept-stream.ts';

export interface ShutdownOrder {
  readonly calls: number;
  readonly connections: number;
  /** Clients that hold a GET stream open. */
  readonly streams: number;
  /** Clients of each era that have been asked something when a router ends. */
  readonly asks: number;
  /**
   * Ends of routers, spread over the calls: `overlap`, the next one accepts before; `gap`, it is started when the
   * other one has gone, as a watchdog does it.
   */
  readonly ends: readonly ('overlap' | 'gap')[];
  /** How long a router that ends lets calls run, in milliseconds. Default: the router's own. */
  readonly drainMs?: number;
}

export interface ShutdownOutcome {
  readonly tally: Tally;
  /** What the agent ran, of how many calls. */
  readonly runs: number;
  readonly texts: number;
  readonly answered: number;
  readonly resumed: number;
  readonly askFailures: readonly string[];
  readonly reopened: number;
  readonly cut: number;
  /** Streams that heard of a change after the last end. */
  readonly heard: number;
  /** Exit codes of the routers that were ended. */
  readonly exits: readonly (number | string)[];
  readonly seconds: number;
}

const paths = ['/mcp', '/mcps/faults/mcp'] as const;

/** Routers end by SIGTERM, one after the other, while clients call, listen and have been asked. */
export async function runShutdowns(scope: Scope, order: ShutdownOrder): Promise<ShutdownOutcome> {
  const ground = await openFaultGround(scope);
  const { drainMs } = order;
  const flags = drainMs === undefined ? [] : ['--limits', `drainMs=${drainMs}`];
  const startRouter = () => ground.startRouter(...flags);
  const first = await startRouter();
  await untilReady(ground.port);
  const tally = new Tally();
  const { streams, callers } = await openClients(scope, ground, order, tally);
  const before = tally.done;
  const begun = performance.now();
  const asks = new Asks(ground.port, order.asks);
  let ended = false;
  const load = callAll(callers, order.calls).finally(() => {
    ended = true;
  });
  const exits: (number | string)[] = [];
  let router = first;
  for (const [index, kind] of order.ends.entries()) {
    const due = before + (order.calls * (index + 1)) / (order.ends.length + 1);
    await until('so many calls are done', async () => ended || tally.done >= due || undefined, 600_000);
    await asks.open(index);
    const next = await endRouter(startRouter, router, kind, asks);
    exits.push(await router.exited);
    router = next;
  }
  await load;
  const seconds = (performance.now() - begun) / 1000;
  const heard = await hearChange(ground.port, streams, tally);
  const sum = (of: (stream: KeptStream) => number) => streams.reduce((total, one) => total + of(one), 0);
  const outcome = {
    tally,
    ...(await ground.count()),
    answered: asks.answered,
    resumed: asks.resumed,
    askFailures: asks.failures,
    reopened: sum(({ reopened }) => reopened),
    cut: sum(({ cut }) => cut),
    heard,
    exits,
    seconds,
  };
  for (const client of [...streams, ...callers]) client.close();
  return outcome;
}

async function openClients(scope: Scope, { port }: FaultGround, order: ShutdownOrder, tally: Tally) {
  const streams = Array.from({ length: order.streams }, () => new KeptStream(port, paths[1], tally));
  const callers = Array.from({ length: order.connections }, (_, index) => {
    return new Caller({ port, path: paths[index % 2] ?? paths[0], tally, resend: true });
  });
  scope.defer(() => {
    for (const client of [...streams, ...callers]) client.close();
  });
  for (const stream of streams) await stream.start();
  for (const caller of callers) await caller.open();
  await until('all streams are open', async () => streams.every(({ isOpen }) => isOpen) || undefined);
  return { streams, callers };
}

async function callAll(callers: readonly Caller[], calls: number): Promise<void> {
  let left = calls;
  const work = callers.map(async (caller) => {
    while (left > 0) {
      left -= 1;
      await caller.call(`call ${left}`);
    }
  });
  await Promise.all(work);
}

/** The next router, when the other one has been told to end and those who were asked have their answers. */
async function endRouter(
  startRouter: () => Promise<HeldRouter>,
  router: HeldRouter,
  kind: 'overlap' | 'gap',
  asks: Asks,
): Promise<HeldRouter> {
  if (kind === 'overlap') {
    const next = await startRouter();
    router.kill('SIGTERM');
    await asks.answerAll();
    return next;
  }
  router.kill('SIGTERM');
  await router.exited;
  const next = await startRouter();
  await asks.answerAll();
  return next;
}

async function hearChange(port: number, streams: readonly KeptStream[], tally: Tally): Promise<number> {
  const allOpen = async () => streams.every(({ isOpen }) => isOpen) || undefined;
  await until('all streams are open again', allOpen).catch(() => undefined);
  const before = streams.map(({ heard }) => heard);
  const caller = new Caller({ port, path: paths[1], tally, resend: true });
  await caller.open();
  await caller.call('a change', 'change');
  caller.close();
  const count = () => streams.filter(({ heard }, index) => heard > (before[index] ?? 0)).length;
  const allHeard = async () => count() === streams.length || undefined;
  await until('all streams heard of it', allHeard, 10_000).catch(() => undefined);
  return count();
}

/** Clients that have been asked, of both eras. */
class Asks {
  answered = 0;
  resumed = 0;
  readonly failures: string[] = [];
  readonly #port: number;
  readonly #each: number;
  #pending: PendingAsk[] = [];

  constructor(port: number, each: number) {
    this.#port = port;
    this.#each = each;
  }

  async open(round: number): Promise<void> {
    const begin = Array.from({ length: this.#each }, (_, index) => {
      const at = { port: this.#port, path: paths[index % 2] ?? paths[0] };
      return [
        askWithSession({ ...at, text: `asked ${round}.${index}` }),
        askStateless({ ...at, text: `asked by result ${round}.${index}` }),
      ];
    });
    this.#pending = await Promise.all(begin.flat());
  }

  async answerAll(): Promise<void> {
    const outcomes = await Promise.allSettled(this.#pending.map((ask) => ask.answer()));
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') this.answered += 1;
      else this.failures.push(String(outcome.reason));
    }
    for (const { resumed } of this.#pending) this.resumed += resumed;
    this.#pending = [];
  }
}
