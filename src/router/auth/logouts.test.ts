import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#kit/log.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createLogouts } from './logouts.ts';

const session = (sid: string) => ({ sid, realm: 'default/people', user: 'local:ana', begun: 0 });

/** A store that writes when it is let, and refuses while it is broken. */
function stand() {
  const clock = createFakeClock();
  const writes: Record<string, string | null>[] = [];
  const state = { broken: false, entries: {} as Record<string, string>, gate: Promise.resolve() };
  const store = {
    current: () => state.entries,
    async write(entries: Readonly<Record<string, string | null>>) {
      await state.gate;
      writes.push({ ...entries });
      if (state.broken) throw new Error('the API is away');
      const all = { ...state.entries, ...entries };
      state.entries = Object.fromEntries(
        Object.entries(all).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
      );
    },
  };
  return { clock, writes, state, logouts: createLogouts({ store, clock, log: silentLog }) };
}

test('many sessions that end at once are told in two writes', async () => {
  const { clock, writes, state, logouts } = stand();
  const open = Promise.withResolvers<void>();
  state.gate = open.promise;
  const ends = Array.from({ length: 500 }, (_, at) => logouts.end(`s${at}`, clock.now() + 60_000));
  open.resolve();
  await Promise.all(ends);
  assert.equal(writes.length, 2);
  assert.equal(Object.keys(state.entries).length, 500);
});

test('while the store is away there is one that tries, and nothing is lost', async () => {
  const { clock, writes, state, logouts } = stand();
  state.broken = true;
  for (let at = 0; at < 50; at += 1) void logouts.end(`s${at}`, clock.now() + 600_000);
  await clock.advance(10_000);
  assert.ok(writes.length <= 7, `${writes.length}`);
  assert.ok(logouts.hasEnded(session('s49')), 'this router knows');
  state.broken = false;
  await clock.advance(2_000);
  assert.equal(Object.keys(state.entries).length, 50);
});

test('a crowd of short sessions does not bring back a longer one that ended', async () => {
  const { clock, logouts } = stand();
  void logouts.end('long', clock.now() + 1_000_000);
  for (let at = 0; at < 25_000; at += 1) void logouts.end(`guest ${at}`, clock.now() + 1_000 + at);
  assert.ok(logouts.hasEnded(session('long')));
  assert.ok(!logouts.hasEnded(session('guest 0')), 'the control: not all are kept');
});
