import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JsonRpcNotification, notificationOf, type Params } from '#mcp/jsonrpc.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createListener } from './listener.ts';
import { createSessionMemory } from './session-memory.ts';
import { createStartPace } from './start-pace.ts';

interface Opened {
  readonly wanted: unknown;
  readonly end: () => void;
  readonly signal: AbortSignal;
}

/** A server that acknowledges everything but `refused`, on streams that the test ends. */
function listening(acknowledges = true) {
  const clock = createFakeClock();
  const opened: Opened[] = [];
  const told: string[] = [];
  const listener = createListener({
    clock,
    onNotification: ({ method }) => told.push(method),
    listen(params: Params, onNotification: (notification: JsonRpcNotification) => void, signal) {
      const { resourceSubscriptions } = params['notifications'] as { resourceSubscriptions?: string[] };
      const { promise, resolve } = Promise.withResolvers<void>();
      opened.push({ wanted: resourceSubscriptions, end: resolve, signal });
      signal.addEventListener('abort', () => resolve());
      const granted = { resourceSubscriptions: resourceSubscriptions?.filter((uri) => uri !== 'refused') };
      if (acknowledges) {
        onNotification(
          notificationOf('notifications/subscriptions/acknowledged', { notifications: granted }),
        );
      }
      return promise;
    },
  });
  return { clock, opened, told, listener };
}

test('a wider subscription takes the place of the one before', async () => {
  const { clock, opened, listener } = listening();
  await listener.add('a');
  await assert.rejects(listener.add('refused'), { code: -32602 });
  await listener.add('b');
  assert.deepEqual(
    opened.map(({ wanted }) => wanted),
    [undefined, ['a'], ['a', 'refused'], ['a', 'b']],
  );
  assert.deepEqual(
    opened.map(({ signal }) => signal.aborted),
    [true, true, true, false],
  );
  listener.close();
  await clock.advance(0);
  assert.deepEqual([opened.at(-1)?.signal.aborted, clock.pending], [true, 0]);
});

test('a subscription that ends is opened again, and the lists are read again', async () => {
  const { clock, opened, told, listener } = listening();
  await clock.advance(0);
  opened[0]?.end();
  await clock.advance(499);
  assert.equal(opened.length, 1);
  await clock.advance(1);
  assert.deepEqual([opened.length, told], [2, ['notifications/tools/list_changed']]);
  listener.close();
  await clock.advance(60_000);
  assert.deepEqual([opened.length, clock.pending], [2, 0]);
});

test('a server without subscriptions is asked once', async () => {
  const { clock, opened, listener } = listening(false);
  await clock.advance(0);
  opened[0]?.end();
  await clock.advance(60_000);
  assert.deepEqual([opened.length, clock.pending], [1, 0]);
  listener.close();
});

test('a session is told to log more, never less, and the next one is told the same (R8, N3)', () => {
  const memory = createSessionMemory();
  const set = (wanted: string | undefined) => {
    const level = memory.levelFor(wanted);
    if (level !== undefined) memory.note('logging/setLevel', { level });
    return level;
  };
  const levels = [undefined, 'error', 'info', 'debug', 'info', 'debug', 'nonsense'].map(set);
  assert.deepEqual(levels, [undefined, 'info', undefined, 'debug', undefined, undefined, undefined]);
  memory.note('resources/subscribe', { uri: 'a' });
  memory.note('resources/subscribe', { uri: 'b' });
  memory.note('resources/unsubscribe', { uri: 'a' });
  assert.deepEqual(memory.replay(), [
    { method: 'logging/setLevel', params: { level: 'debug' } },
    { method: 'resources/subscribe', params: { uri: 'b' } },
  ]);
});

test('starts that keep failing get pauses, and calls are refused when these are long (E2)', async () => {
  const clock = createFakeClock();
  const pace = createStartPace(clock);
  const signal = new AbortController().signal;
  await pace.due(signal);
  pace.failed('it ended with exit code 3');
  let started = false;
  const due = pace.due(signal).then(() => {
    started = true;
  });
  await clock.advance(49);
  assert.equal(started, false);
  await clock.advance(1);
  await due;
  for (let failures = 0; failures < 8; failures++) pace.failed('it ended with exit code 3');
  await assert.rejects(pace.due(signal), { code: 'UpstreamLost', message: /exit code 3/ });
  pace.succeeded();
  await pace.due(signal);
  assert.equal(clock.pending, 0);
});
