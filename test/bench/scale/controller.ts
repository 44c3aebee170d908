/**
 * The product's controllers with the answering in-memory driver. Tells what they did when asked over the channel.
 *   controller.ts API_SOCKET FOLDER
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { startManager } from '#controllers/manager.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { AnsweringDriver } from './answering-driver.ts';
import { type Counts, countingMetrics, countWrites } from './counting.ts';

export interface ControllerFacts {
  /** Writes that the API accepted, by kind and method. */
  readonly writes: Counts;
  /** Counters of the client runtime, requests with their answers among them. */
  readonly counters: Counts;
  readonly ensureCalls: number;
  /** Bytes after a collection. */
  readonly heapUsed: number;
  readonly rss: number;
}

const [apiSocket = '', folder = ''] = process.argv.slice(2);
const writes: Counts = {};
const counters: Counts = {};
const agents = fork(join(import.meta.dirname, 'agents.ts'));
const driver = new AnsweringDriver(folder, agents);
const metrics = countingMetrics(counters);
const client = createClient({ endpoint: unixEndpoint(apiSocket), clock: systemClock, metrics });
const manager = await startManager({
  client: countWrites(client, writes),
  drivers: [driver],
  host: { codeRoot: folder },
  homeNamespace: 'default',
  identity: 'scale',
  clock: systemClock,
  random: systemRandom,
  log: silentLog,
  metrics,
});

function facts(): ControllerFacts {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return {
    writes: { ...writes },
    counters: { ...counters },
    ensureCalls: driver.calls.ensure,
    heapUsed,
    rss,
  };
}

process.on('message', () => process.send?.(facts()));
process.on('disconnect', () => {
  manager
    .stop()
    .then(() => client.close())
    .finally(() => process.exit(0));
});
process.send?.(facts());
