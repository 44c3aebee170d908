import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import type { TaskQueue } from '#agent-server/queue/queue.ts';
import { pass } from './failpoints.ts';
import { runSpawnerOn } from './run-spawner.ts';

/*
 * The parts of an agent-server that a queued command goes through, and nothing else: store, queue, runner, spawner.
 * Orders come on stdin: `q <number> <exit code> <bytes> <S|E|-> <retries>` enqueues, `c <number> <id>` asks. It
 * says `up`, `a <number> <id>` when a task is acknowledged, `x <number> <why>` when it is refused, `d <number>` when
 * an outcome is recorded, and `r <number> <JSON>`.
 */
const [mode = '', generation = ''] = process.argv.slice(2);
if (mode === 'spawner') await runSpawnerOn(generation);
else await serve(mode);

async function serve(folder: string): Promise<void> {
  const { createTaskQueue } = await import('#agent-server/queue/durable-queue.ts');
  const { defaultLimits } = await import('#agent-server/queue/store/operations.ts');
  const { silentLog } = await import('#kit/log.ts');
  const { systemClock } = await import('#kit/clock.ts');
  const { systemRandom } = await import('#kit/random.ts');
  const queue = createTaskQueue({
    folder,
    imports: [],
    limits: { ...defaultLimits, maxFinished: 1_000_000, maxPending: 1_000_000 },
    startThread: (workerData) => new Worker(process.env['DURABILITY_THREAD'] ?? '', { workerData }),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    logTailBytes: () => 1_000,
  });
  await startRunner(queue);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  say('up');
  for await (const line of createInterface({ input: process.stdin })) void obey(queue, line, say);
  await queue.close();
  process.exit(0);
}

async function obey(queue: TaskQueue, line: string, say: (line: string) => void): Promise<void> {
  const [order, number = '', code, size, die, retries] = line.split(' ');
  if (order === 'c') {
    const record = await queue.get(code ?? '');
    say(`r ${number} ${JSON.stringify(record ?? null)}`);
    return;
  }
  try {
    const payload = { line: `${number} ${code} ${size} ${die}` };
    const { id } = await queue.enqueue({
      key: `k${number}`,
      toolName: 'tool',
      payload,
      retries: Number(retries),
    });
    pass('before-ack');
    say(`a ${number} ${id}`);
    pass('after-ack');
  } catch (error) {
    say(`x ${number} ${error}`);
  }
}

async function startRunner(queue: TaskQueue): Promise<void> {
  const { createGate } = await import('#agent-server/queue/gate.ts');
  const { startTaskRunner } = await import('#agent-server/queue/runner.ts');
  const { startSpawner } = await import('#agent-server/tools/spawner-client.ts');
  const { runCommand } = await import('#agent-server/tools/run-command.ts');
  const { systemClock } = await import('#kit/clock.ts');
  const { systemRandom } = await import('#kit/random.ts');
  const { silentLog } = await import('#kit/log.ts');
  const spawner = startSpawner({
    command: [process.execPath, '--max-semi-space-size=1', process.argv[1] ?? '', 'spawner'],
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });
  const { MARKS = '', BOOT = '', TOOL = '', PARALLEL = '' } = process.env;
  const template = spawner.define({
    file: '/bin/sh',
    args: [TOOL],
    cwd: '/',
    env: { MARKS, BOOT, SERVER: String(process.pid) },
    maxStdout: 1_000_000,
    maxStderr: 1_000,
    maxEvent: 1_000,
    graceMs: 500,
    prewarm: 0,
  });
  const gate = createGate({ limit: Number(PARALLEL), maxWaiting: 100, onFull: () => new Error('full') });
  startTaskRunner({
    queue: withSettle(queue, async (lease, outcome) => {
      pass('before-result');
      const settled = await queue.settle(lease, outcome);
      pass('after-result');
      if (settled) process.stdout.write(`d ${String(lease.task.payload['line']).split(' ')[0]}\n`);
      return settled;
    }),
    gate,
    async execute(lease) {
      pass('before-spawn');
      const running = runCommand({
        ...{ spawner, clock: systemClock, template, timeoutMs: 60_000, signal: lease.signal },
        stdin: `${lease.task.payload['line']}\n`,
      });
      pass('after-spawn');
      const outcome = await running;
      if (outcome.type !== 'exited') return { status: 'failed', error: `ended as ${outcome.type}` };
      const result = { content: [{ type: 'text', text: outcome.stdout.toString('latin1') }] };
      const { code } = outcome.exit;
      if (code === 0) return { status: 'completed', result, exitCode: 0 };
      return { status: 'failed', error: `exit ${code}`, exitCode: code ?? -1, result };
    },
  });
}

function withSettle(queue: TaskQueue, settle: TaskQueue['settle']): TaskQueue {
  return new Proxy(queue, {
    get(target, name) {
      const member: unknown = name === 'settle' ? settle : Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
