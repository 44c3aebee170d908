import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createPeer } from './peer.ts';

test('a connection that has failed answers later requests at once', async () => {
  const clock = createFakeClock();
  const sent: unknown[] = [];
  const peer = createPeer({ clock, send: (message) => sent.push(message), onNotification: () => undefined });
  const { signal } = new AbortController();
  const call = { signal, timeoutMs: 600_000, context: undefined };
  const before = peer.request('ping', {}, call);
  peer.fail(new Error('the process is gone'));
  await assert.rejects(before, /is gone/);
  const later = [peer.request('ping', {}, call), peer.listen({}, () => undefined, signal)];
  const outcomes = await Promise.race([Promise.allSettled(later), clock.advance(1)]);
  assert.deepEqual(
    outcomes?.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.deepEqual([sent.length, peer.pending, clock.pending], [1, 0, 0]);
});
