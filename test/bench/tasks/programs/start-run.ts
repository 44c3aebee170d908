/**
 * Starts a process by the spawner, and the same process as a task of an idle queue, in turns; prints one line of JSON.
 *   start-run.ts FOLDER AGENT-SERVER-BUNDLE CALLS → {spawned, enqueued, acknowledged}, milliseconds each
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createGate } from '#agent-server/queue/gate.ts';
import { startTaskRunner } from '#agent-server/queue/runner.ts';
import { startSpawner } from '#agent-server/tools/spawner-client.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { cleanEnvironment } from '../../harness/spawn-loop.ts';
import type { StartTimes } from '../start.ts';
import { openDurableQueue } from '../writers/durable.ts';
import { payloadOf } from '../writers/writer.ts';

const [folder = '', bundle = '', calls = ''] = process.argv.slice(2);
const warmUp = 40;
/** Between two starts, so that what the last one left to do is done. */
const pauseMs = 3;

const spawner = startSpawner({
  command: [process.execPath, '--max-semi-space-size=1', bundle, 'spawner'],
  clock: systemClock,
  random: systemRandom,
  log: silentLog,
});
const template = spawner.define({
  file: '/bin/echo',
  args: ['started'],
  cwd: '/',
  env: cleanEnvironment,
  maxStdout: 1000,
  maxStderr: 1000,
  maxEvent: 1000,
  graceMs: 1000,
  prewarm: 0,
});

/** Resolves when the process has ended; tells of its first byte at once. */
function start(onFirstByte: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error('the process could not be started'));
    spawner.start(template, '', {
      onStdout: onFirstByte,
      onStderr: () => undefined,
      onEvent: () => undefined,
      onExit: () => resolve(),
      onFailed: fail,
      onLost: fail,
    });
  });
}

const queue = openDurableQueue(folder);
let onFirstByte = () => {};
let onRun = () => {};
startTaskRunner({
  queue,
  gate: createGate({ limit: 10, maxWaiting: 100, onFull: () => new Error('full') }),
  async execute() {
    await start(() => onFirstByte());
    setImmediate(() => onRun());
    return { status: 'completed', result: { content: [{ type: 'text', text: 'started' }] } };
  },
});

async function timeSpawn(): Promise<number> {
  const begun = performance.now();
  let first = 0;
  await start(() => {
    first = performance.now() - begun;
  });
  return first;
}

async function timeTask(number: number): Promise<{ enqueued: number; acknowledged: number }> {
  const { promise: settled, resolve } = Promise.withResolvers<void>();
  onRun = resolve;
  const begun = performance.now();
  let enqueued = 0;
  onFirstByte = () => {
    enqueued = performance.now() - begun;
  };
  await queue.enqueue({ toolName: 'echo', payload: payloadOf(number) });
  const acknowledged = performance.now() - begun;
  await settled;
  return { enqueued, acknowledged };
}

const spawned: number[] = [];
const enqueued: number[] = [];
const acknowledged: number[] = [];
for (let number = 0; number < warmUp + Number(calls); number += 1) {
  const alone = await timeSpawn();
  await sleep(pauseMs);
  const task = await timeTask(number);
  await sleep(pauseMs);
  if (number < warmUp) continue;
  spawned.push(alone);
  enqueued.push(task.enqueued);
  acknowledged.push(task.acknowledged);
}
await queue.close();
await spawner.close();
console.log(`result ${JSON.stringify({ spawned, enqueued, acknowledged } satisfies StartTimes)}`);
process.exit(0);
