/**
 * The load: a process of its own that a bench talks to over its channel. Opens connections to a target and, when
 * told, calls over some of them for a while; checks every answer; the first wrong one ends the run with an error.
 */
import { ascending, percentile } from '../harness/stats.ts';
import { LoadConnection } from './connection.ts';
import type { FromLoad, LoadOutcome, LoadRun, LoadTarget, ToLoad } from './order.ts';

const targets = new Map<number, LoadConnection[]>();

async function open(id: number, target: LoadTarget): Promise<null> {
  const connections: LoadConnection[] = [];
  for (let number = 0; number < target.connections; number += 1) {
    const other = target.sharedSession === true ? connections[0] : undefined;
    connections.push(await LoadConnection.open(target, number, other));
  }
  targets.set(id, connections);
  return null;
}

async function run(connections: readonly LoadConnection[], order: LoadRun): Promise<LoadOutcome> {
  const latencies: number[] = [];
  const cpu = process.cpuUsage();
  const begun = performance.now();
  const deadline = begun + order.ms;
  let left = order.calls ?? Number.POSITIVE_INFINITY;
  const work = connections.slice(0, order.connections).map(async (connection) => {
    while (left-- > 0 && performance.now() < deadline) latencies.push(await connection.call());
  });
  await Promise.all(work);
  const seconds = (performance.now() - begun) / 1000;
  const used = process.cpuUsage(cpu);
  const sorted = Float64Array.from(latencies).sort(ascending);
  return {
    calls: sorted.length,
    seconds,
    callsPerSecond: sorted.length / seconds,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    max: sorted.at(-1) ?? Number.NaN,
    ownMicros: (used.user + used.system) / sorted.length,
  };
}

async function obey(order: ToLoad): Promise<LoadOutcome | null> {
  if (order.type === 'open') return open(order.id, order.target);
  const connections = targets.get(order.target);
  if (connections === undefined) throw new Error('no such target');
  return run(connections, order.run);
}

process.on('message', (order: ToLoad) => {
  const answer = (message: FromLoad) => process.send?.(message);
  obey(order).then(
    (outcome) => answer({ id: order.id, outcome }),
    (error: unknown) =>
      answer({ id: order.id, error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
