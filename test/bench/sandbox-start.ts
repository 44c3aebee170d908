import { randomBytes } from 'node:crypto';
import type { Driver } from '#drivers/driver.ts';
import { createProcessDriver } from '#drivers/process/driver.ts';
import type { Workload } from '#drivers/workload.ts';
import { systemRandom } from '#kit/random.ts';
import { ensureBundles } from '#main/bundle.ts';
import {
  bwrapAvailability,
  bwrapDriver,
  commonOptions,
  createDriverHost,
  ensureUntil,
  removeFully,
  workloadOf,
} from '#test/fixtures/driver-host.ts';
import { connectProven } from '#wire/connect.ts';
import { bundle } from './harness/agent-server.ts';
import { type Bench, type BenchResult, CannotRun } from './harness/bench.ts';
import { checkout, type Scope, until } from './harness/scope.ts';
import { median } from './harness/stats.ts';
import { type Load, type OpenTarget, startLoad } from './load/client.ts';
import type { LoadOutcome } from './load/order.ts';

const starts = 5;
const rounds = 5;
const sliceMs = 1_200;
export type Side = 'bwrap' | 'process';
const sides: readonly Side[] = ['process', 'bwrap'];
const cat = { name: 'cat', command: ['/bin/cat'], inputSchema: { type: 'object' } };

interface StartTimes {
  /** Milliseconds from `ensure` until the driver sees it run, and until the agent-server has proved itself. */
  readonly running: number;
  readonly answering: number;
}

/** An agent from nothing to answering, and a call of a `cat` tool in it: in a sandbox and without one. */
export const sandboxStart: Bench = {
  name: 'sandbox-start',
  about: 'an agent’s start and a command tool in a bwrap sandbox, beside a plain process',
  goals: ['P9-added-p50-ms'],
  async run(scope) {
    const drivers = await createDrivers(scope);
    const begun: Record<Side, StartTimes[]> = { bwrap: [], process: [] };
    for (let index = 0; index < starts; index += 1) {
      for (const side of sides) begun[side].push(await timeStart(drivers[side], workloadFor(side)));
    }
    const calls = await measureCalls(scope, drivers);
    return judge(begun, calls);
  },
};

/** With an agent-server that the drivers start in either way. Throws CannotRun where sandboxes are not to be had. */
export async function createDrivers(scope: Scope): Promise<Record<Side, Driver>> {
  const availability = await bwrapAvailability();
  if (!availability.ok) throw new CannotRun(availability.reason);
  await ensureBundles(checkout, () => undefined);
  const host = createDriverHost('pb-driver-');
  scope.defer(() => host.remove());
  const plain = {
    node: process.execPath,
    agentServer: bundle,
    routerUrl: 'http://127.0.0.1:1',
    binFolders: [],
  };
  const drivers = {
    bwrap: bwrapDriver(host, { agentServer: bundle }),
    process: createProcessDriver({ ...commonOptions(host), process: plain }),
  };
  for (const driver of Object.values(drivers)) scope.defer(() => driver.close());
  return drivers;
}

export function workloadFor(side: Side, tools: readonly object[] = [cat]): Workload {
  const base = workloadOf();
  return {
    ...base,
    runtime: { ...base.runtime, class: side === 'bwrap' ? 'Bwrap' : 'Process' },
    agentServer: {
      ...base.agentServer,
      keys: [{ kid: 'bench', secret: randomBytes(32).toString('base64url') }],
      mcp: { tools },
    },
  };
}

async function start(driver: Driver, workload: Workload): Promise<{ address: string; uid: string }> {
  const seen = await ensureUntil(driver, workload, ({ phase }) => phase === 'Running');
  const [instance] = seen.instances;
  if (instance === undefined) throw new Error('nothing runs');
  return instance;
}

function keyOf({ agentServer }: Workload) {
  const [key] = agentServer.keys;
  if (key === undefined) throw new Error('no key');
  return { ...key, secret: Buffer.from(key.secret, 'base64url') };
}

async function answers(
  workload: Workload,
  { address, uid }: { address: string; uid: string },
): Promise<void> {
  await until('the agent-server answers', async () => {
    const proof = { address, keys: [keyOf(workload)], instance: uid, random: systemRandom };
    const { socket } = await connectProven(proof);
    socket.destroy();
    return true;
  });
}

async function timeStart(driver: Driver, workload: Workload): Promise<StartTimes> {
  const begun = performance.now();
  try {
    const instance = await start(driver, workload);
    const running = performance.now() - begun;
    await answers(workload, instance);
    return { running, answering: performance.now() - begun };
  } finally {
    await removeFully(driver, workload);
  }
}

type Calls = Record<Side, Record<1 | 10, LoadOutcome>>;

async function measureCalls(scope: Scope, drivers: Record<Side, Driver>): Promise<Calls[]> {
  const load = startLoad(scope);
  const openCat = async (side: Side) =>
    (await openTools(scope, load, drivers[side], workloadFor(side)))('cat');
  const open = {
    process: await openCat('process'),
    bwrap: await openCat('bwrap'),
  };
  const measure = async (side: Side) => ({
    1: await open[side].run({ connections: 1, ms: sliceMs }),
    10: await open[side].run({ connections: 10, ms: sliceMs }),
  });
  const taken: Calls[] = [];
  for (let index = 0; index < rounds; index += 1) {
    taken.push({ process: await measure('process'), bwrap: await measure('bwrap') });
  }
  return taken;
}

/** Starts the agent; the function opens one of its tools. */
export async function openTools(
  scope: Scope,
  load: Load,
  driver: Driver,
  workload: Workload,
): Promise<(tool: string) => Promise<OpenTarget>> {
  scope.defer(() => removeFully(driver, workload));
  const instance = await start(driver, workload);
  await answers(workload, instance);
  const key = keyOf(workload);
  return (name) =>
    load.open({
      address: { path: instance.address.slice('unix:'.length) },
      url: '/mcp',
      era: 'none',
      method: 'tools/call',
      name,
      connections: 10,
      token: {
        kid: key.kid,
        secret: key.secret.toString('base64url'),
        agent: workload.id,
        instance: instance.uid,
      },
    });
}

function judge(begun: Record<Side, readonly StartTimes[]>, calls: readonly Calls[]): BenchResult {
  const title = { bwrap: 'in a bwrap sandbox', process: 'as a plain process' };
  const added = median(calls.map(({ bwrap, process: plain }) => bwrap[1].p50 - plain[1].p50));
  return {
    tables: [
      {
        title: `From nothing to answering, ${starts} starts each`,
        columns: ['medians', 'runs after ms', 'answers after ms'],
        rows: sides.map((side) => [
          title[side],
          median(begun[side].map(({ running }) => running)),
          median(begun[side].map(({ answering }) => answering)),
        ]),
      },
      {
        title: `A cat tool, ${rounds} rounds of ${sliceMs / 1000} s`,
        columns: ['medians', 'calls/s', 'p50 ms', 'p99 ms'],
        rows: ([1, 10] as const).flatMap((level) =>
          sides.map((side) => [
            `${title[side]}, c=${level}`,
            ...(['callsPerSecond', 'p50', 'p99'] as const).map((field) =>
              median(calls.map((taken) => taken[side][level][field])),
            ),
          ]),
        ),
      },
    ],
    goals: [{ name: 'P9-added-p50-ms', op: '<=', target: 5, unit: 'ms', value: added }],
    samples: { starts: begun, calls },
    notes: ['A sandbox lives as long as its agent; tools start inside it, so no call makes one.'],
  };
}
