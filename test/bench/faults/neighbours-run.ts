import { join } from 'node:path';
import { startApi } from '../harness/api.ts';
import { lineOf, type Scope, type Started, until } from '../harness/scope.ts';
import { ascending, percentile } from '../harness/stats.ts';
import { freePort } from '../router-call.ts';
import { Caller, Tally } from './caller.ts';
import { untilReady } from './ground.ts';
import { FreeList, startOpenLoad } from './open-load.ts';

export type NeighbourMode = 'well' | 'slow' | 'silent' | 'dead';

export interface Neighbour {
  readonly socket: string;
  readonly secret: string;
  readonly kid: string;
  readonly instance: string;
  readonly name: string;
}

export interface NeighboursOrder {
  readonly agents: number;
  readonly rounds: number;
  readonly roundMs: number;
  /** Calls a second of the agents that stay well, together. */
  readonly perSecond: number;
}

export interface Latency {
  readonly calls: number;
  readonly p50: number;
  readonly p99: number;
}

export interface NeighboursRound {
  /** Of calls of the agents that stay well, while all are … */
  readonly well: Latency;
  /** … and while one is slow, one silent and one dead, and called all the same. */
  readonly beside: Latency;
}

export interface NeighboursOutcome {
  readonly rounds: readonly NeighboursRound[];
  /** What failed of the calls of agents that stay well. */
  readonly failures: readonly string[];
}

/** The last three agents, by what becomes of them. */
const ill: readonly NeighbourMode[] = ['slow', 'silent', 'dead'];
/** Calls a second of each of these. */
const illPerSecond = 5;

/** Calls of many agents, three of which are well and ill in turn. */
export async function runNeighbours(scope: Scope, order: NeighboursOrder): Promise<NeighboursOutcome> {
  const { port, backends } = await openAgents(scope, order.agents);
  const names = Array.from({ length: order.agents }, (_, index) => nameOf(index));
  const tally = new Tally();
  const failing = new Tally();
  const wellAgents = await openCallers(port, names.slice(0, -ill.length), tally);
  const illAgents = await openCallers(port, names.slice(-ill.length), failing);
  const stop = startOpenLoad(illPerSecond * ill.length, (number) => callOne(illAgents, number));
  const measure = () => measureCalls(order, wellAgents, tally);
  const setModes = async (modeOf: (index: number) => NeighbourMode) => {
    for (const index of ill.keys()) {
      await setMode(backends, order.agents - ill.length + index, modeOf(index));
    }
  };
  await measure();
  const rounds: NeighboursRound[] = [];
  for (let round = 0; round < order.rounds; round += 1) {
    const well = await measure();
    await setModes((index) => ill[index] ?? 'well');
    const beside = await measure();
    await setModes(() => 'well');
    rounds.push({ well, beside });
  }
  await stop.stop();
  return { rounds, failures: tally.failures };
}

function nameOf(index: number): string {
  return `agent${index}`;
}

async function openAgents(scope: Scope, count: number): Promise<{ port: number; backends: Started }> {
  const api = await startApi(scope);
  const made: { agent: Awaited<ReturnType<typeof api.createAgent>>['agent']; neighbour: Neighbour }[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = nameOf(index);
    const { agent, key } = await api.createAgent(name);
    const socket = join(scope.folder, `n${index}`);
    const secret = key.secret.toString('base64url');
    made.push({ agent, neighbour: { socket, secret, kid: key.kid, instance: `i-${index}`, name } });
  }
  const script = join(import.meta.dirname, 'programs/neighbours.ts');
  const input = JSON.stringify(made.map(({ neighbour }) => neighbour));
  const backends = scope.start(script, [], { ipc: true, input, side: 'load' });
  await lineOf(backends.process, 'ready ');
  for (const { agent, neighbour } of made) {
    await api.publish(agent, { uid: neighbour.instance, address: `unix:${neighbour.socket}` });
  }
  const port = await freePort();
  api.startMain('router', ['--listen', `127.0.0.1:${port}`], { side: 'measured' });
  await until(
    'the router answers',
    async () => (await fetch(`http://127.0.0.1:${port}/health`)).ok || undefined,
  );
  await untilReady(port);
  return { port, backends };
}

function setMode({ process: child }: Started, index: number, mode: NeighbourMode): Promise<void> {
  return new Promise((resolve) => {
    child.once('message', () => resolve());
    child.send({ index, mode });
  });
}

interface Callers {
  readonly tool: string;
  readonly free: FreeList<Caller>;
}

/** Each agent by its own endpoint, and by the one of all. */
async function openCallers(port: number, names: readonly string[], tally: Tally): Promise<Callers[]> {
  const all = new Caller({ port, path: '/mcp', tally, resend: false });
  await all.open();
  const opened: Callers[] = [];
  for (const name of names) {
    const one = new Caller({ port, path: `/mcps/${name}/mcp`, tally, resend: false });
    await one.open();
    for (const caller of [one, all]) {
      const free = new FreeList<Caller>([], () => caller.beside());
      opened.push({ tool: `${name}-echo`, free });
    }
  }
  return opened;
}

function callOne(callers: readonly Callers[], number: number): Promise<unknown> {
  const chosen = callers[number % callers.length];
  if (chosen === undefined) throw new Error('no caller');
  return chosen.free.use((caller) => caller.call(`call ${number}`, chosen.tool));
}

async function measureCalls(
  { roundMs, perSecond }: NeighboursOrder,
  callers: readonly Callers[],
  tally: Tally,
): Promise<Latency> {
  const taken: number[] = [];
  tally.onAnswer = (ms) => taken.push(ms);
  const load = startOpenLoad(perSecond, (number) => callOne(callers, number));
  await new Promise((resolve) => setTimeout(resolve, roundMs));
  await load.stop();
  tally.onAnswer = undefined;
  const sorted = taken.sort(ascending);
  return { calls: sorted.length, p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
}
