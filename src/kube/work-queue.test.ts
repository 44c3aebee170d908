import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '#kit/random.ts';
import { createFakeClock, type FakeClock, settle } from '#test/fixtures/fake-clock.ts';
import type { ObjectKey } from './key.ts';
import { createWorkQueue, type WorkQueue } from './work-queue.ts';

const a: ObjectKey = { namespace: 'default', name: 'a' };
const b: ObjectKey = { namespace: 'default', name: 'b' };

function createQueue(clock: FakeClock = createFakeClock()): { clock: FakeClock; queue: WorkQueue } {
  const random = { ...systemRandom, fraction: () => 0.5 };
  return {
    clock,
    queue: createWorkQueue({ name: 'test', clock, random, backoff: { initial: 100, max: 1_000 } }),
  };
}

describe('the work queue', () => {
  test('hands out keys in order of adding, each once', async () => {
    const { queue } = createQueue();
    for (const key of [a, b, a, a]) queue.add({ ...key });
    assert.equal(queue.length, 2);
    assert.deepEqual([await queue.take(), await queue.take()], [a, b]);
    assert.equal(queue.length, 0);
  });

  test('hands out keys that were added first before the others, but every eighth time', async () => {
    const { queue } = createQueue();
    const named = (name: string): ObjectKey => ({ namespace: 'default', name });
    for (let index = 0; index < 3; index++) queue.add(named(`old-${index}`));
    for (let index = 0; index < 9; index++) queue.add(named(`new-${index}`), 'first');
    queue.add(named('old-2'), 'first');
    const taken = await Promise.all(Array.from({ length: 12 }, () => queue.take()));
    assert.deepEqual(
      taken.map((key) => key?.name),
      [
        'new-0',
        'new-1',
        'new-2',
        'new-3',
        'new-4',
        'new-5',
        'new-6',
        'old-0',
        'new-7',
        'new-8',
        'old-2',
        'old-1',
      ],
    );
    assert.equal(queue.length, 0);
  });

  test('hands a key that was added while it was processed out again, afterwards', async () => {
    const { queue } = createQueue();
    queue.add(a);
    await queue.take();
    queue.add(a);
    queue.add(a);
    assert.equal(queue.length, 0);
    queue.done(a);
    assert.deepEqual(await queue.take(), a);
    queue.done(a);
    assert.equal(queue.length, 0);
  });

  test('lets the earliest of several delays win', async () => {
    const { clock, queue } = createQueue();
    queue.addAfter(a, 500);
    queue.addAfter(a, 200);
    queue.addAfter(a, 900);
    await clock.advance(199);
    assert.equal(queue.length, 0);
    await clock.advance(1);
    assert.equal(queue.length, 1);
    await queue.take();
    queue.done(a);
    await clock.advance(10_000);
    assert.equal(queue.length, 0);
  });

  test('absorbs a delay by an add, because the reconcile that follows says anew when to come back', async () => {
    const { clock, queue } = createQueue();
    queue.addAfter(a, 500);
    queue.add(a);
    await queue.take();
    queue.done(a);
    assert.equal(clock.pending, 0);
  });

  test('keeps a delay that was asked for while the key was processed', async () => {
    const { clock, queue } = createQueue();
    queue.add(a);
    await queue.take();
    queue.addAfter(a, 100);
    await clock.advance(100);
    assert.equal(queue.length, 0);
    queue.done(a);
    assert.equal(queue.length, 1);
  });

  test('backs off per key, doubling to its maximum, until forgotten', async () => {
    const { queue } = createQueue();
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6].map(() => queue.retry(a)),
      [100, 200, 400, 800, 1_000, 1_000],
    );
    assert.equal(queue.retry(b), 100);
    assert.equal(queue.failures(a), 6);
    queue.forget(a);
    assert.equal(queue.retry(a), 100);
    queue.close();
  });

  test('bounds a retry by the limits given, the least time before the most', () => {
    const { queue } = createQueue();
    assert.equal(queue.retry(a, { minMs: 5_000 }), 5_000);
    assert.equal(queue.retry(a, { maxMs: 150 }), 150);
    assert.equal(queue.retry(a, { minMs: 7_000, maxMs: 150 }), 7_000);
    queue.close();
  });

  test('answers waiting and later takes with undefined once closed, and leaves no timer', async () => {
    const { clock, queue } = createQueue();
    const waiting = queue.take();
    queue.addAfter(a, 100);
    queue.close();
    queue.add(b);
    assert.equal(await waiting, undefined);
    assert.equal(await queue.take(), undefined);
    assert.equal(clock.pending, 0);
  });
});

type Step =
  | { readonly do: 'add' | 'addFirst' | 'retry' | 'forget' | 'finish'; readonly key: number }
  | { readonly do: 'addAfter'; readonly key: number; readonly ms: number }
  | { readonly do: 'advance'; readonly ms: number };

const keys = fc.integer({ min: 0, max: 3 });
const ms = fc.integer({ min: 0, max: 300 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('add', 'addFirst', 'retry', 'forget', 'finish'), key: keys }),
  fc.record({ do: fc.constant('addAfter'), key: keys, ms }),
  fc.record({ do: fc.constant('advance'), ms }),
);

/** Runs steps with three workers that finish a key only when told, and keeps the books the contract speaks of. */
async function play(steps: readonly Step[]) {
  const { clock, queue } = createQueue();
  const processing = new Map<string, ObjectKey>();
  const startedAt = new Map<string, number>();
  /** When a take has to have begun at the latest, unless the key is being processed. */
  const wantedBy = new Map<string, number>();
  let twice = 0;
  let stopped = false;
  const finish = new Map<string, () => void>();
  const work = async () => {
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      if (processing.has(key.name)) twice += 1;
      processing.set(key.name, key);
      startedAt.set(key.name, clock.monotonic());
      wantedBy.delete(key.name);
      const { name } = key;
      if (!stopped) await new Promise<void>((resolve) => finish.set(name, resolve));
      processing.delete(key.name);
      queue.done(key);
    }
  };
  const workers = [work(), work(), work()];
  const want = (name: string, at: number) => wantedBy.set(name, Math.min(at, wantedBy.get(name) ?? at));
  for (const one of steps) {
    const now = clock.monotonic();
    if (one.do === 'advance') await clock.advance(one.ms);
    else {
      const key = { namespace: 'n', name: `k${one.key}` };
      if (one.do === 'add' || one.do === 'addFirst') {
        want(key.name, now);
        queue.add(key, one.do === 'addFirst' ? 'first' : 'last');
      } else if (one.do === 'addAfter') {
        want(key.name, now + one.ms);
        queue.addAfter(key, one.ms);
      } else if (one.do === 'retry') want(key.name, now + queue.retry(key));
      else if (one.do === 'forget') queue.forget(key);
      else finish.get(key.name)?.();
    }
    await settle();
  }
  stopped = true;
  for (let i = 0; i < 20; i++) {
    for (const resolve of finish.values()) resolve();
    await clock.advance(200);
  }
  const lost = [...wantedBy.keys()];
  const left = { waiting: queue.length, timers: clock.pending, processing: processing.size };
  queue.close();
  await Promise.all(workers);
  return { twice, lost, left };
}

describe('for any sequence of steps, the work queue', () => {
  test('processes no key twice at once and loses nothing that was added', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        assert.deepEqual(await play(steps), {
          twice: 0,
          lost: [],
          left: { waiting: 0, timers: 0, processing: 0 },
        });
      }),
      { numRuns: 300 },
    );
  });
});
