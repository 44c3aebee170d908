import {
  closeSync,
  cpSync,
  fstatSync,
  ftruncateSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createTaskQueue } from '#agent-server/queue/durable-queue.ts';
import { createGate } from '#agent-server/queue/gate.ts';
import type { TaskQueue } from '#agent-server/queue/queue.ts';
import { startTaskRunner } from '#agent-server/queue/runner.ts';
import { defaultLimits } from '#agent-server/queue/store/operations.ts';
import { systemClock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';

/*
 * A queue that works on a disk that fails for a while: `full` (the disk of its folder is filled) or `flush` (a library
 * makes flushes fail while a file exists). Prints one JSON object.
 */
const [fault = '', folder = '', aside = ''] = process.argv.slice(2);
const ballast = join(folder, '../ballast');
const text = 'y'.repeat(8_000);

interface Order {
  readonly key: string;
  readonly id: string | undefined;
}

const runs = new Map<string, number>();
const queue = createTaskQueue({
  folder,
  imports: [],
  limits: { ...defaultLimits, maxPending: 100_000, maxFinished: 100_000 },
  startThread: (workerData) => new Worker(process.env['DURABILITY_THREAD'] ?? '', { workerData }),
  clock: systemClock,
  random: systemRandom,
  log: silentLog,
  logTailBytes: () => 1_000,
});
const gate = createGate({ limit: 4, maxWaiting: 10, onFull: () => new Error('full') });
let letGo = () => {};
const held = new Promise<void>((resolve) => {
  letGo = resolve;
});
startTaskRunner({
  queue,
  gate,
  async execute({ task }) {
    runs.set(task.id, (runs.get(task.id) ?? 0) + 1);
    await (task.toolName === 'held' ? held : sleep(5));
    return { status: 'completed', exitCode: 0, result: { content: [{ type: 'text', text: task.id }] } };
  },
});

function turnOn(): void {
  if (fault === 'flush') {
    writeFileSync(process.env['SHIM_FAULT'] ?? '', '');
    return;
  }
  const file = openSync(ballast, 'w');
  // To the last byte: by halves of what still fits.
  for (let size = 1 << 20; size > 0; ) {
    try {
      const before = fstatSync(file).size;
      if (writeSync(file, Buffer.alloc(size)) < size) ftruncateSync(file, before);
      else continue;
    } catch {
      // It does not fit.
    }
    size >>= 1;
  }
  closeSync(file);
}

function turnOff(): void {
  rmSync(fault === 'flush' ? (process.env['SHIM_FAULT'] ?? '') : ballast);
}

let serial = 0;
const refusals = new Map<string, number>();
let slowestRefusalMs = 0;
async function order(toolName = 'short', payload: Record<string, unknown> = { text }): Promise<Order> {
  const key = `k${serial++}`;
  const begun = performance.now();
  try {
    const { id } = await queue.enqueue({ key, toolName, payload });
    return { key, id };
  } catch (error) {
    const said = `${codeOf(error)}: ${messageOf(error)}`;
    refusals.set(said, (refusals.get(said) ?? 0) + 1);
    slowestRefusalMs = Math.max(slowestRefusalMs, performance.now() - begun);
    return { key, id: undefined };
  }
}

async function statuses(of: TaskQueue, orders: readonly Order[]): Promise<(string | undefined)[]> {
  return Promise.all(orders.map(async ({ id }) => (await of.get(id ?? ''))?.status));
}

/** Milliseconds until all are completed. */
async function untilDone(orders: readonly Order[], longestMs: number): Promise<number> {
  const begun = performance.now();
  while (performance.now() - begun < longestMs) {
    const found = await statuses(queue, orders).catch(() => []);
    if (found.length === orders.length && found.every((status) => status === 'completed')) break;
    await sleep(20);
  }
  return performance.now() - begun;
}

const before = await Promise.all(Array.from({ length: 40 }, () => order('short', {})));
const holding = await order('held', {});
await untilDone(before, 10_000);
turnOn();
const during: Order[] = [];
while (during.filter(({ id }) => id === undefined).length < 25 && during.length < 20_000) {
  during.push(...(await Promise.all([order(), order(), order()])));
}
letGo();
await sleep(600);
const read = await statuses(queue, before).catch((error: unknown) => [messageOf(error)]);
cpSync(folder, join(aside, 'killed'), { recursive: true });
const refusedDuring = during.filter(({ id }) => id === undefined);
turnOff();
const backAt = performance.now();
let recoveredMs = Number.NaN;
const after: Order[] = [];
while (performance.now() - backAt < 20_000) {
  const back = await order();
  if (back.id !== undefined) {
    recoveredMs = performance.now() - backAt;
    after.push(back);
    break;
  }
  await sleep(20);
}
const acked = [...before, holding, ...during, ...after].filter(({ id }) => id !== undefined);
const doneMs = await untilDone(acked, 20_000);
const found = await statuses(queue, acked);
const ghosts: string[] = [];
for (const { key } of refusedDuring) if ((await queue.getByKey(key)) !== undefined) ghosts.push(key);
const counts = queue.counts();
await queue.close();
cpSync(folder, join(aside, 'closed'), { recursive: true });
console.log(
  JSON.stringify({
    acked: acked.map(({ id }) => id),
    ackedDuring: during.length - refusedDuring.length,
    refused: refusedDuring.length,
    refusedKeys: refusedDuring.map(({ key }) => key),
    refusals: Object.fromEntries(refusals),
    slowestRefusalMs,
    readable: read.filter((status) => status === 'completed').length,
    recoveredMs,
    doneMs,
    unfinished: found.filter((status) => status !== 'completed').length,
    ranTwice: [...runs.values()].filter((count) => count > 1).length,
    ghosts: ghosts.length,
    running: counts.running,
    pending: counts.pending,
  }),
);
process.exit(0);
