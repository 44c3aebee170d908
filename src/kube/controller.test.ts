import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TerminalError } from '#kit/errors.ts';
import { type Log, type LogFields, silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { createFakeClock, settle } from '#test/fixtures/fake-clock.ts';
import { createController, type Reconcile, type ReconcileContext } from './controller.ts';
import { ApiError, TransportError } from './errors.ts';
import type { ObjectKey } from './key.ts';
import type { Metrics } from './metrics.ts';
import { again, settled } from './result.ts';
import { callbackSource, type Source } from './sources.ts';

const a: ObjectKey = { namespace: 'default', name: 'a' };
const b: ObjectKey = { namespace: 'default', name: 'b' };

interface Options {
  readonly concurrency?: number;
  readonly sources?: Source[];
  readonly timeoutMs?: number;
}

/** A controller on a fake clock whose reconciles, logs and counters are written down. */
function createStage(
  reconcile: (key: ObjectKey, context: ReconcileContext) => ReturnType<Reconcile>,
  options: Options = {},
) {
  const clock = createFakeClock();
  const times: number[] = [];
  const lines: string[] = [];
  const counts = new Map<string, number>();
  const note = (level: string) => (message: string, _fields?: LogFields) =>
    void lines.push(`${level}: ${message}`);
  const log: Log = {
    ...silentLog,
    debug: note('debug'),
    warn: note('warn'),
    error: note('error'),
    with: () => log,
  };
  const metrics: Metrics = {
    counter: ({ name }) => ({
      inc: (labels) => {
        const series = [name.replace('controller_runtime_', ''), labels['result']].filter(Boolean).join(' ');
        counts.set(series, (counts.get(series) ?? 0) + 1);
      },
    }),
    gauge: () => ({ set: () => undefined }),
    histogram: () => ({ observe: () => undefined }),
  };
  const controller = createController({
    name: 'test',
    sources: [],
    clock,
    random: { ...systemRandom, fraction: () => 0.5 },
    log,
    metrics,
    ...options,
    reconcile: (key, context) => {
      times.push(clock.monotonic());
      return reconcile(key, context);
    },
  });
  return { clock, controller, times, lines, counts };
}

/** Fails `times` times with `error`, then settles. */
function failing(error: unknown, times = Number.POSITIVE_INFINITY): () => ReturnType<Reconcile> {
  let left = times;
  return async () => {
    left -= 1;
    if (left >= 0) throw error;
    return settled;
  };
}

describe('a controller', () => {
  test('asks again after the time that the reconcile said, without counting a failure', async () => {
    const results = [again(1_000), again(5_000), settled];
    const { clock, controller, times, counts } = createStage(async () => results.shift() ?? settled);
    controller.enqueue(a);
    await controller.start();
    await clock.advance(60_000);
    assert.deepEqual(times, [0, 1_000, 6_000]);
    assert.deepEqual(
      [counts.get('reconcile_total requeue_after'), counts.get('reconcile_total success')],
      [2, 1],
    );
    await controller.stop();
  });

  test('backs off from errors and starts over after a success', async () => {
    const { clock, controller, times, lines, counts } = createStage(failing(new Error('no'), 3));
    controller.enqueue(a);
    await controller.start();
    await clock.advance(10_000);
    assert.deepEqual(times, [0, 50, 150, 350]);
    assert.deepEqual(lines, Array(3).fill('error: reconcile failed'));
    assert.equal(counts.get('reconcile_errors_total'), 3);
    await controller.stop();
  });

  test('gives a key up on a TerminalError until it changes', async () => {
    const { clock, controller, times, counts } = createStage(failing(new TerminalError('Bad', 'never'), 1));
    controller.enqueue(a);
    await controller.start();
    await clock.advance(3_600_000);
    assert.deepEqual(times, [0]);
    assert.equal(counts.get('terminal_reconcile_errors_total'), 1);
    assert.equal(counts.get('reconcile_total error'), 1);
    controller.enqueue(a);
    await settle();
    assert.equal(times.length, 2);
    await controller.stop();
  });

  test('tries a conflict again without an error in log or metrics', async () => {
    const conflict = new ApiError({ status: 409, message: 'the object has been modified' });
    const { clock, controller, times, lines, counts } = createStage(failing(conflict, 2));
    controller.enqueue(a);
    await controller.start();
    await clock.advance(10_000);
    assert.equal(times.length, 3);
    assert.equal(
      lines.every((line) => line.startsWith('debug: ')),
      true,
    );
    assert.equal(counts.get('reconcile_errors_total'), undefined);
    assert.equal(counts.get('reconcile_total requeue'), 2);
    await controller.stop();
  });

  test('waits as long as the API asks, and never long for an API that is merely away', async () => {
    const busy = createStage(
      failing(new ApiError({ status: 429, message: 'busy', retryAfterMs: 30_000 }), 1),
    );
    busy.controller.enqueue(a);
    await busy.controller.start();
    await busy.clock.advance(60_000);
    assert.deepEqual(busy.times, [0, 30_000]);
    await busy.controller.stop();

    const away = createStage(failing(new TransportError('ConnectFailed', 'nothing listens')));
    away.controller.enqueue(a);
    await away.controller.start();
    await away.clock.advance(600_000);
    const gaps = away.times.slice(1).map((time, i) => time - (away.times[i] ?? 0));
    assert.equal(Math.max(...gaps), 4_000);
    await away.controller.stop();
  });

  test('works on nothing before every source has synced', async () => {
    const synced = Promise.withResolvers<void>();
    const early = callbackSource((enqueue) => {
      enqueue(a);
      return () => undefined;
    });
    const late = callbackSource(() => () => undefined, synced.promise);
    const { clock, controller, times } = createStage(async () => settled, { sources: [early, late] });
    const started = controller.start();
    await clock.advance(1_000);
    assert.deepEqual(times, []);
    synced.resolve();
    await started;
    await settle();
    assert.deepEqual(times, [1_000]);
    await controller.stop();
  });

  test('can be stopped while it waits for a source that never syncs', async () => {
    const never = callbackSource(() => () => undefined, new Promise(() => undefined));
    const { controller, times } = createStage(async () => settled, { sources: [never] });
    const started = controller.start();
    controller.enqueue(a);
    await controller.stop();
    await started;
    assert.deepEqual(times, []);
  });

  test('reconciles different keys at the same time and one key never', async () => {
    const running: string[] = [];
    const release: (() => void)[] = [];
    const { controller } = createStage(
      async (key) => {
        running.push(key.name);
        await new Promise<void>((resolve) => release.push(resolve));
        return settled;
      },
      { concurrency: 3 },
    );
    await controller.start();
    for (const key of [a, b, a, a]) controller.enqueue(key);
    await settle();
    controller.enqueue(a);
    await settle();
    assert.deepEqual(running, ['a', 'b']);
    release.shift()?.();
    await settle();
    assert.deepEqual(running, ['a', 'b', 'a']);
    for (const finish of release) finish();
    await controller.stop();
  });

  test('waits on stop for what runs, and aborts its signal after the grace period', async () => {
    let aborted = false;
    const { clock, controller } = createStage(async (_key, { signal }) => {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      aborted = true;
      return settled;
    });
    controller.enqueue(a);
    await controller.start();
    await settle();
    let stopped = false;
    const stopping = controller.stop({ graceMs: 5_000 }).then(() => {
      stopped = true;
    });
    await clock.advance(4_999);
    assert.deepEqual([stopped, aborted], [false, false]);
    await clock.advance(1);
    await stopping;
    assert.equal(aborted, true);
    assert.equal(clock.pending, 0);
  });

  test('aborts the signal of a reconcile that takes too long', async () => {
    const { clock, controller, times } = createStage(
      (_key, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      { timeoutMs: 1_000 },
    );
    controller.enqueue(a);
    await controller.start();
    await clock.advance(1_060);
    assert.deepEqual(times, [0, 1_050]);
    await clock.advance(1_000);
    await controller.stop({ graceMs: 0 }).catch(() => undefined);
  });
});
