import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Agent } from '#api/agent.ts';
import { agentResource } from '#api/resources.ts';
import { type BenchApi, startApi } from '../harness/api.ts';
import type { Bench, Goal } from '../harness/bench.ts';
import { lineOf, type Scope, until } from '../harness/scope.ts';
import { median } from '../harness/stats.ts';
import { freePort } from '../router-call.ts';
import { openSession } from './mcp-target.ts';

const sizes = [
  { agents: 20, targetMs: 4 },
  { agents: 50, targetMs: 8 },
] as const;
/** After all agents changed: of a router that has just started, and of one that has served for a while. */
const rounds = { young: 10, warm: 15 };
/**
 * How often a router has asked an agent for its list before it counts as warm: V8 has compiled what that takes by then.
 * Until it has, a list takes up to twice as long, and hardly less long of 20 agents than of 50, with which it is done
 * sooner.
 */
const asksUntilWarm = 2_500;
/** Flags of the router: the list that a client waits for, which is never good for another, and the one that it finds. */
const ways = { 'fan-out': ['--limits', 'listsAhead=0,listMaxAgeMs=1'], 'after-change': [] };
const toolsEach = 10;

/** What a list costs when nothing of it is known: every agent is asked at once. */
export const gatewayFanOut: Bench = {
  name: 'gateway-fan-out',
  about: 'tools/list over 20 and 50 agents of which nothing is cached, and with one of 20 that hangs',
  goals: [
    'P5-fan-out-20-ms',
    'P5-after-change-20-ms',
    'P5-fan-out-50-ms',
    'P5-after-change-50-ms',
    'P5-agents-beside-a-hung-one',
    'P5-hung-deadline-ms',
  ],
  async run(scope) {
    const rows: (string | number)[][] = [];
    const goals: Goal[] = [];
    for (const { agents, targetMs } of sizes) {
      for (const [name, flags] of Object.entries(ways)) {
        const { first, young, warm } = await measure(scope, agents, flags);
        const value = median(warm);
        const after = name === 'fan-out' ? 'asked by the list' : 'asked ahead';
        const figures = [first.ms, median(young), value, Math.max(...warm), first.tools];
        rows.push([`${agents} agents, ${after}`, ...figures]);
        goals.push({ name: `P5-${name}-${agents}-ms`, op: '<=', target: targetMs, unit: 'ms', value });
      }
    }
    const hung = await openGateway(scope, 20, 1, []);
    const { ms, tools } = await hung.list();
    rows.push(['20 agents, one hangs', ms, Number.NaN, Number.NaN, Number.NaN, tools]);
    goals.push(
      { name: 'P5-agents-beside-a-hung-one', op: '>=', target: 19, unit: 'agents', value: tools / toolsEach },
      { name: 'P5-hung-deadline-ms', op: '<=', target: 10_500, unit: 'ms', value: ms },
    );
    await hung.close();
    const columns = ['', 'first ever, ms', 'the next ten, p50 ms', 'warm, p50 ms', 'slowest ms', 'tools'];
    return {
      tables: [{ title: `tools/list through /mcp, ${toolsEach} tools an agent`, columns, rows }],
      goals,
      samples: rows,
      notes: [
        'The first ever connects to every agent and has it prove itself. Before each of the others all agents changed.',
        `Asked by the list: with listsAhead=0, so that the list waits for every agent; warm: of a router that has asked for lists ${asksUntilWarm} times before. Asked ahead: as it is by default; the list comes a second after the change, since the last one was asked ahead.`,
      ],
    };
  },
};

interface Gateway {
  list(): Promise<{ readonly ms: number; readonly tools: number }>;
  /** Every agent says that it has other tools: nothing that was cached is good any more. */
  forget(): Promise<void>;
  close(): Promise<void>;
}

async function measure(scope: Scope, agents: number, flags: readonly string[]) {
  const gateway = await openGateway(scope, agents, 0, flags);
  const timeRounds = async (count: number) => {
    const taken: number[] = [];
    for (let round = 0; round < count; round += 1) {
      await gateway.forget();
      const { ms, tools } = await gateway.list();
      if (tools !== agents * toolsEach) throw new Error(`${tools} tools of ${agents * toolsEach}`);
      taken.push(ms);
    }
    return taken;
  };
  const first = await gateway.list();
  const young = await timeRounds(rounds.young);
  // Where lists are asked ahead, a list asks nobody.
  const asks = flags.length === 0 ? 0 : asksUntilWarm;
  for (let asked = 0; asked < asks; asked += agents) {
    await gateway.list();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const warm = await timeRounds(rounds.warm);
  await gateway.close();
  return { first, young, warm };
}

let opened = 0;

async function openGateway(
  scope: Scope,
  count: number,
  hanging: number,
  flags: readonly string[],
): Promise<Gateway> {
  const own = join(scope.folder, `fan-${++opened}`);
  const api = await startApi({ ...forwarding(scope), folder: own });
  const agents = await createAgents(scope, api, count, hanging);
  const port = await freePort();
  const router = api.startMain('router', ['--listen', `127.0.0.1:${port}`, ...flags], { side: 'measured' });
  const health = `http://127.0.0.1:${port}/health?ready`;
  await until('the router is ready', async () => (await fetch(health)).ok || undefined);
  const headers = await openSession(port, '/mcp');
  let round = 0;
  return {
    async list() {
      const body = JSON.stringify({ jsonrpc: '2.0', id: randomUUID(), method: 'tools/list', params: {} });
      const begun = performance.now();
      const answer = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body });
      const text = await answer.text();
      const ms = performance.now() - begun;
      const { result } = JSON.parse(text) as { result?: { tools: unknown[] } };
      return { ms, tools: result?.tools.length ?? 0 };
    },
    async forget() {
      round += 1;
      await Promise.all(agents.map((agent) => publish(api, agent, `sha256:round-${round}`)));
      // An agent is asked ahead once a second at most.
      await new Promise((resolve) => setTimeout(resolve, flags.length === 0 ? 1_100 : 150));
      // Keeps the connection of the bench itself alive and warm.
      await (await fetch(health)).text();
    },
    async close() {
      await router.stop();
      await api.apiserver.stop();
    },
  };
}

interface Made {
  readonly agent: Agent;
  readonly instance: string;
  readonly socket: string;
}

async function createAgents(scope: Scope, api: BenchApi, count: number, hanging: number): Promise<Made[]> {
  const made: Made[] = [];
  const backends: object[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = `agent${index}`;
    const { agent, key } = await api.createAgent(name);
    const socket = join(scope.folder, `b${opened}-${index}`);
    const secret = key.secret.toString('base64url');
    backends.push({ socket, secret, kid: key.kid, instance: `i-${index}`, name, hangs: index < hanging });
    made.push({ agent, instance: `i-${index}`, socket });
  }
  const script = join(import.meta.dirname, 'programs/many-backends.ts');
  const { process: child } = scope.start(script, [], { side: 'load', input: JSON.stringify(backends) });
  await lineOf(child, 'ready ');
  await Promise.all(made.map((one) => publish(api, one, 'sha256:first')));
  return made;
}

async function publish(api: BenchApi, { agent, instance, socket }: Made, digest: string): Promise<void> {
  const { name = '', namespace = '' } = agent.metadata;
  const now = await api.client.get<Agent>(agentResource, { name, namespace });
  await api.publish(now, { uid: instance, address: `unix:${socket}`, digest });
}

/** The same scope with another folder: a workspace of its own. */
function forwarding(scope: Scope): Scope {
  return {
    folder: scope.folder,
    pinned: scope.pinned,
    start: (...args) => scope.start(...args),
    run: (...args) => scope.run(...args),
    defer: (end) => scope.defer(end),
  };
}
