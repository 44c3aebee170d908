import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { defaultSettings as settings } from './settings.ts';
import {
  type ChildAction,
  type ChildEvent,
  type ChildState,
  idleChild,
  type Step,
  supervise,
} from './supervision.ts';

/** A child in a world of its own: time passes only when told. */
function world(restarts: readonly number[] = [], fraction = 0.5) {
  let state: ChildState = idleChild(restarts);
  let time = 1_000_000;
  let pid = 0;
  const done: ChildAction[] = [];
  const send = (event: ChildEvent): Step => {
    const step = supervise(state, event, { now: time, monotonic: time, fraction }, settings);
    state = step.state;
    done.push(...step.actions);
    // The runner carries out at once what needs no waiting.
    if (step.actions.some((action) => action.do === 'spawn')) send({ type: 'spawned', pid: ++pid });
    return step;
  };
  return {
    send,
    pass: (ms: number) => {
      time += ms;
    },
    state: () => state,
    delays: () => done.flatMap((action) => (action.do === 'wait' ? [action.ms] : [])),
    gaveUp: () => done.find((action) => action.do === 'give-up'),
    events: () => done.flatMap((action) => (action.do === 'log' ? [action.event] : [])),
    actions: () => done,
  };
}

/** Runs for `uptime`, dies by SIGKILL and waits out the delay it was given. */
function liveAndDie(child: ReturnType<typeof world>, uptime: number): void {
  child.pass(uptime);
  child.send({ type: 'exited', code: null, signal: 'SIGKILL' });
  if (child.state().phase !== 'waiting') return;
  child.pass(child.delays().at(-1) ?? 0);
  child.send({ type: 'restart-due' });
}

test('delays grow 1, 2, 4, 8, 16, 30, 30 seconds while runs stay short', () => {
  const child = world();
  child.send({ type: 'start' });
  for (let run = 0; run < 7; run++) liveAndDie(child, 20_000);
  assert.deepEqual(child.delays(), [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  assert.equal(child.gaveUp(), undefined);
});

test('five restarts within a minute pass, the sixth trips the breaker with exit code 100', () => {
  const child = world();
  child.send({ type: 'start' });
  for (let run = 0; run < 5; run++) liveAndDie(child, 10);
  assert.equal(child.state().phase, 'running');
  liveAndDie(child, 10);
  const end = child.gaveUp();
  assert.equal(end?.do === 'give-up' && end.exitCode, 100);
  assert.ok(child.events().includes('circuit_breaker_tripped'));
  assert.equal(child.send({ type: 'restart-due' }).actions.length, 0);
});

test('the breaker counts the restarts that an earlier watchdog made', () => {
  const child = world([999_000, 998_000, 997_000, 996_000, 995_000]);
  child.send({ type: 'start' });
  liveAndDie(child, 10);
  assert.ok(child.gaveUp());
});

test('restarts of an hour ago and restarts in the future do not count', () => {
  const hourAgo = 1_000_000 - 3_600_000;
  const child = world([hourAgo, hourAgo, hourAgo, 9_000_000, 9_000_000, 9_000_000]);
  child.send({ type: 'start' });
  liveAndDie(child, 10);
  assert.equal(child.gaveUp(), undefined);
});

test('after a minute of uptime the next restart is quick and the row begins anew', () => {
  const child = world();
  child.send({ type: 'start' });
  liveAndDie(child, 10);
  liveAndDie(child, 10);
  liveAndDie(child, 60_000);
  liveAndDie(child, 10);
  assert.deepEqual(child.delays(), [1000, 2000, settings.quickRestart, 1000]);
  assert.ok(child.events().includes('successful_run_detected'));
});

const finals: [string, { code: number | null; signal: string | null }, number, string][] = [
  ['exit code 0', { code: 0, signal: null }, 0, 'clean_exit'],
  ['exit code 2', { code: 2, signal: null }, 2, 'configuration_error'],
  ['exit code 100', { code: 100, signal: null }, 100, 'fatal_error_no_restart'],
  ['exit code 137', { code: 137, signal: null }, 137, 'fatal_error_no_restart'],
  ['SIGTERM from outside', { code: null, signal: 'SIGTERM' }, 0, 'intentional_signal'],
  ['SIGINT from outside', { code: null, signal: 'SIGINT' }, 0, 'intentional_signal'],
];
for (const [name, exit, exitCode, event] of finals) {
  test(`no restart follows ${name}, and the log says ${event}`, () => {
    const child = world();
    child.send({ type: 'start' });
    child.send({ type: 'exited', ...exit });
    const end = child.gaveUp();
    assert.equal(end?.do === 'give-up' && end.exitCode, exitCode);
    assert.ok(child.events().includes(event as never));
    assert.ok(child.events().includes('restart_skipped'));
    assert.deepEqual(child.delays(), []);
  });
}

for (const [name, exit] of [
  ['exit code 1', { code: 1, signal: null }],
  ['exit code 99', { code: 99, signal: null }],
  ['SIGKILL', { code: null, signal: 'SIGKILL' }],
  ['SIGSEGV', { code: null, signal: 'SIGSEGV' }],
] as const) {
  test(`a restart follows ${name}`, () => {
    const child = world();
    child.send({ type: 'start' });
    child.send({ type: 'exited', ...exit });
    assert.deepEqual(child.delays(), [1000]);
    assert.ok(child.events().includes('unexpected_exit'));
  });
}

test('three failed checks in a row restart the child even though it then exits cleanly', () => {
  const child = world();
  child.send({ type: 'start' });
  child.send({ type: 'checked', healthy: false });
  child.send({ type: 'checked', healthy: false });
  child.send({ type: 'checked', healthy: true });
  child.send({ type: 'checked', healthy: false });
  child.send({ type: 'checked', healthy: false });
  assert.ok(!child.actions().some((action) => action.do === 'terminate'));
  child.send({ type: 'checked', healthy: false });
  assert.ok(child.actions().some((action) => action.do === 'terminate'));
  child.send({ type: 'exited', code: 0, signal: null });
  assert.equal(child.gaveUp(), undefined);
  assert.deepEqual(child.delays(), [1000]);
  assert.ok(child.events().includes('health_check_recovered'));
  assert.ok(child.events().includes('health_check_restart'));
});

test('a stop while waiting cancels the restart; a stop while running terminates', () => {
  const waiting = world();
  waiting.send({ type: 'start' });
  waiting.send({ type: 'exited', code: 1, signal: null });
  waiting.send({ type: 'stop' });
  assert.deepEqual(waiting.send({ type: 'restart-due' }).actions, []);
  const running = world();
  running.send({ type: 'start' });
  assert.deepEqual(running.send({ type: 'stop' }).actions, [{ do: 'terminate' }]);
  running.send({ type: 'exited', code: 1, signal: null });
  assert.deepEqual(running.delays(), []);
});

test('a child that is spawned after the stop is terminated at once', () => {
  const state = supervise(idleChild(), { type: 'stop' }, moment(0), settings).state;
  const step = supervise(state, { type: 'spawned', pid: 7 }, moment(1), settings);
  assert.deepEqual(step.actions.at(-1), { do: 'terminate' });
});

function moment(time: number) {
  return { now: time, monotonic: time, fraction: 0 };
}

const anyEvent: fc.Arbitrary<ChildEvent> = fc.oneof(
  fc.constant<ChildEvent>({ type: 'restart-due' }),
  fc.record({ type: fc.constant('checked' as const), healthy: fc.boolean() }),
  fc.record({
    type: fc.constant('exited' as const),
    code: fc.option(fc.integer({ min: 0, max: 255 })),
    signal: fc.option(fc.constantFrom('SIGKILL', 'SIGTERM', 'SIGABRT')),
  }),
  fc.constant<ChildEvent>({ type: 'spawn-failed', message: 'ENOENT' }),
);

test('whatever happens, a window never holds more restarts than allowed and delays stay in bounds', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(anyEvent, fc.nat(40_000)), { maxLength: 60 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (events, fraction) => {
        const child = world([], fraction);
        child.send({ type: 'start' });
        for (const [event, ms] of events) {
          child.pass(ms);
          const before = child.state();
          // A runner reports an exit or a check only of a child that runs.
          if (event.type === 'exited' && before.pid === undefined) continue;
          child.send(event);
          assert.ok(child.state().restarts.length <= settings.maxRestarts);
          if (before.phase === 'ended') assert.equal(child.state().phase, 'ended');
        }
        for (const ms of child.delays()) {
          assert.ok(ms === settings.quickRestart || (ms >= 900 && ms <= 33_000), String(ms));
        }
      },
    ),
    { numRuns: 500 },
  );
});
