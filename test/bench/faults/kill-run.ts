import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identifyProcess } from '#kit/process.ts';
import { createWorkspace } from '#test/fixtures/workspace/workspace.ts';
import { type Scope, until } from '../harness/scope.ts';
import { Caller, Tally } from './caller.ts';
import { openFaultGround, untilReady } from './ground.ts';
import { FreeList, startOpenLoad } from './open-load.ts';

export interface KillOrder {
  readonly kills: number;
  readonly seconds: number;
  readonly perSecond: number;
}

export interface KillOutcome {
  /** Calls that were begun. */
  readonly begun: number;
  readonly tally: Tally;
  readonly seconds: number;
  /** From each kill until another router accepted; milliseconds. */
  readonly outagesMs: readonly number[];
  /** What the agent ran, of how many calls; where somebody counted. */
  readonly counted?: { readonly runs: number; readonly texts: number };
}

/** Router after router is killed on a socket that something else holds; with two of them, one takes over. */
export async function runKills(scope: Scope, order: KillOrder, routers: 1 | 2): Promise<KillOutcome> {
  const ground = await openFaultGround(scope);
  const running = [await ground.startRouter()];
  if (routers === 2) running.push(await ground.startRouter());
  await untilReady(ground.port);
  const kill = async () => {
    const victim = running.shift();
    const begun = performance.now();
    victim?.kill('SIGKILL');
    await victim?.exited;
    running.push(await ground.startRouter());
    return routers === 2 ? 0 : performance.now() - begun;
  };
  const paths = ['/mcp', '/mcps/faults/mcp'];
  const work = (caller: Caller, number: number) => caller.call(`call ${number}`);
  const outcome = await killUnderLoad(order, { port: ground.port, paths, work, kill });
  return { ...outcome, counted: await ground.count() };
}

/** The same in a whole workspace, whose watchdog starts the routers. */
export async function runWorkspaceKills(scope: Scope, order: KillOrder): Promise<KillOutcome> {
  // By default it gives up after five restarts in a minute, and waits twice as long before each.
  const env = { PLOINKY_WATCHDOG_MAX_RESTARTS: '100', PLOINKY_WATCHDOG_BACKOFF_MS: '5' };
  const workspace = await createWorkspace({ examples: ['hello'], env });
  scope.defer(() => workspace.remove());
  const port = Number(new URL(await workspace.up()).port);
  const log = join(workspace.paths.logs, 'watchdog.log');
  const kill = async () => {
    const pid = await until('a router runs', async () => livingRouter(log));
    const begun = performance.now();
    process.kill(pid, 'SIGKILL');
    const next = async () => {
      const now = livingRouter(log);
      return now !== undefined && now !== pid ? now : undefined;
    };
    await until('another router runs', next, 60_000);
    return performance.now() - begun;
  };
  const work = (caller: Caller) => caller.request('tools/list', {}, '"greet"');
  return killUnderLoad(order, { port, paths: ['/mcp'], work, kill });
}

/** The pid of the newest router that the watchdog started, when it lives. */
function livingRouter(log: string): number | undefined {
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
  const events = lines.map((line) => JSON.parse(line) as { event: string; server?: string; pid?: number });
  const spawned = events.filter(({ event, server }) => event === 'server_spawned' && server === 'router');
  const pid = spawned.at(-1)?.pid;
  return pid !== undefined && identifyProcess(pid) !== undefined ? pid : undefined;
}

interface KilledGround {
  readonly port: number;
  readonly paths: readonly string[];
  readonly work: (caller: Caller, number: number) => Promise<unknown>;
  /** Kills a router; resolves with how long there was none. */
  readonly kill: () => Promise<number>;
}

/** Half of the calls have a connection of their own. */
async function killUnderLoad(order: KillOrder, ground: KilledGround): Promise<KillOutcome> {
  const tally = new Tally();
  const callers: Caller[] = [];
  for (const path of ground.paths) {
    const caller = new Caller({ port: ground.port, path, tally, resend: false });
    await caller.open();
    callers.push(caller);
  }
  const made = [...callers];
  const free = new FreeList<Caller>([], () => {
    const model = callers[made.length % callers.length] ?? made[0];
    if (model === undefined) throw new Error('no caller');
    const caller = model.beside({ alwaysNew: made.length % 4 < 2 });
    made.push(caller);
    return caller;
  });
  const begun = performance.now();
  const load = startOpenLoad(order.perSecond, (number) => free.use((caller) => ground.work(caller, number)));
  const outagesMs: number[] = [];
  for (let kill = 1; kill <= order.kills; kill += 1) {
    const due = begun + (kill * order.seconds * 1000) / (order.kills + 1);
    await sleep(Math.max(0, due - performance.now()));
    outagesMs.push(await ground.kill());
  }
  await sleep(Math.max(0, begun + order.seconds * 1000 - performance.now()));
  await load.stop();
  for (const caller of made) caller.close();
  return { begun: load.begun, tally, seconds: (performance.now() - begun) / 1000, outagesMs };
}
