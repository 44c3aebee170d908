import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock, settle } from '#test/fixtures/fake-clock.ts';
import type { CallContext } from '../source.ts';
import { LinkTable } from './client-links.ts';

const { signal } = new AbortController();
const call = { signal, timeoutMs: 600_000, context: undefined };
const context: CallContext = {
  era: 'sessions',
  revision: '2025-11-25',
  session: undefined,
  requestId: 1,
  headers: {},
  claims: undefined,
  token: undefined,
  capabilities: {},
  signal,
  onProgress: undefined,
  logLevel: undefined,
  onLog: () => undefined,
};

/** Links whose requests are answered when the test says so, and fail when the link ends before. */
function startTable(max: number, oneByOne = true) {
  const clock = createFakeClock();
  const answers = new Map<string, () => void>();
  let opened = 0;
  const table = new LinkTable({
    clock,
    idleMs: 1000,
    max,
    oneByOne,
    async open() {
      opened += 1;
      const closed = Promise.withResolvers<string>();
      return {
        request: (method) =>
          new Promise((resolve, reject) => {
            answers.set(method, () => resolve({ method }));
            void closed.promise.then((reason) => reject(new Error(reason)));
          }),
        closed: closed.promise,
        held: false,
        end: async () => closed.resolve('it was ended'),
      };
    },
  });
  const send = (key: string, method = key) =>
    table.open(key, {}, signal, (entry) => table.use(entry, method, {}, call, context));
  return { clock, table, answers, send, opened: () => opened };
}

for (const max of [1, 2]) {
  test(`of many calls that wait for one of ${max} links, all are answered`, async () => {
    const { answers, send } = startTable(max);
    const keys = ['a', 'b', 'c', 'd', 'e'];
    const done = Promise.allSettled(keys.map((key) => send(key)));
    for (let round = 0; round < keys.length; round++) {
      await settle();
      assert.ok(answers.size <= max, 'no more run at once');
      const [next] = answers;
      assert.ok(next !== undefined, 'one is let in');
      answers.delete(next[0]);
      next[1]();
    }
    assert.deepEqual(
      (await done).map(({ status }) => status),
      keys.map(() => 'fulfilled'),
    );
  });
}

test('a table that is closed opens nothing more, and lets nobody wait for ever', async () => {
  const { table, send, opened } = startTable(1);
  const running = send('a');
  await settle();
  const waiting = send('b');
  const outcomes = Promise.allSettled([running, waiting]);
  await table.close();
  await assert.rejects(waiting, { code: 'UpstreamLost' });
  await assert.rejects(send('c'), { code: 'UpstreamLost' });
  assert.deepEqual(
    (await outcomes).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(opened(), 1);
});

test('a call that waits for its turn gives up when its time is over', async () => {
  const { clock, answers, send } = startTable(1);
  const first = send('a', 'first');
  const second = send('a', 'second');
  const refused = assert.rejects(second, { code: 'UpstreamTimeout' });
  await clock.advance(call.timeoutMs);
  await refused;
  answers.get('first')?.();
  assert.deepEqual(await first, { method: 'first' });
  assert.equal(answers.has('second'), false);
});
