/**
 * Adds tasks in one way and times each, told by messages one at a time:
 *   writer.ts WAY PEERS   {open: FOLDER} | {add: TASKS, to: FOLDER, producers} | {close: FOLDER}
 * Producers share the process, as requests to an agent-server do: each adds its next task when the last is on disk.
 */
import { mkdirSync } from 'node:fs';
import { ascending, percentile } from '../../harness/stats.ts';
import type { AddOutcome, WriterAnswer, WriterOrder } from '../writer-process.ts';
import { openDurable } from '../writers/durable.ts';
import { openFlushes } from '../writers/flushes.ts';
import { openLiteque } from '../writers/liteque.ts';
import { openPlain } from '../writers/plain.ts';
import { openPlainjob } from '../writers/plainjob.ts';
import type { OpenWriter, Writer, WriterName } from '../writers/writer.ts';

const [name = '', peers = ''] = process.argv.slice(2);
const ways: Record<WriterName, OpenWriter> = {
  durable: openDurable,
  plain: openPlain,
  flushes: openFlushes,
  plainjob: (folder) => openPlainjob(folder, peers),
  liteque: (folder) => openLiteque(folder, peers),
};
const open = ways[name as WriterName];
const writers = new Map<string, Writer>();

function writerOf(folder: string): Writer {
  const writer = writers.get(folder);
  if (writer === undefined) throw new Error(`${folder} is not open`);
  return writer;
}

async function add(writer: Writer, tasks: number, producers: number): Promise<AddOutcome> {
  const times = new Float64Array(tasks);
  let next = 0;
  const produce = async () => {
    for (let number = next++; number < tasks; number = next++) {
      const begun = performance.now();
      await writer.add(number);
      times[number] = performance.now() - begun;
    }
  };
  const before = process.cpuUsage();
  const begun = performance.now();
  await Promise.all(Array.from({ length: producers }, produce));
  const seconds = (performance.now() - begun) / 1000;
  const { user, system } = process.cpuUsage(before);
  times.sort(ascending);
  return {
    tasks,
    seconds,
    perSecond: tasks / seconds,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    max: percentile(times, 1),
    micros: (user + system) / tasks,
  };
}

async function carryOut(order: WriterOrder): Promise<AddOutcome | undefined> {
  if ('open' in order) {
    mkdirSync(order.open, { recursive: true });
    writers.set(order.open, await open(order.open));
  } else if ('close' in order) {
    await writerOf(order.close).close();
    writers.delete(order.close);
  } else {
    return add(writerOf(order.to), order.add, order.producers);
  }
  return undefined;
}

process.on('message', (order: WriterOrder) => {
  const say = (answer: WriterAnswer) => process.send?.(answer);
  carryOut(order).then(
    (outcome) => say({ outcome: outcome ?? null }),
    (error: unknown) => say({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
