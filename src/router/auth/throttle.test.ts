import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createThrottle } from './throttle.ts';

test('so many failures at once, then one after each interval', async () => {
  const clock = createFakeClock();
  const throttle = createThrottle({ burst: 3, everyMs: 1_000 }, clock);
  for (let count = 0; count < 3; count += 1) {
    assert.equal(throttle.waitMs('ana'), 0);
    throttle.fail('ana');
  }
  assert.equal(throttle.waitMs('ana'), 1_000);
  assert.equal(throttle.waitMs('bob'), 0);
  await clock.advance(1_000);
  assert.equal(throttle.waitMs('ana'), 0);
  throttle.fail('ana');
  assert.equal(throttle.waitMs('ana'), 1_000);
  throttle.forget('ana');
  assert.equal(throttle.waitMs('ana'), 0);
});

test('what it remembers is bounded', () => {
  const throttle = createThrottle({ burst: 1, everyMs: 1_000 }, createFakeClock());
  for (let count = 0; count < 50_000; count += 1) throttle.fail(`user ${count}`);
  assert.equal(throttle.size, 20_000);
  assert.ok(throttle.waitMs('user 49999') > 0);
});

test('what has nothing left to remember makes room first', async () => {
  const clock = createFakeClock();
  const throttle = createThrottle({ burst: 10, everyMs: 1_000 }, clock);
  for (let count = 0; count < 10; count += 1) throttle.fail('ana');
  for (let count = 0; count < 19_999; count += 1) throttle.fail(`early ${count}`);
  await clock.advance(1_000);
  for (let count = 0; count < 19_999; count += 1) throttle.fail(`late ${count}`);
  assert.equal(throttle.size, 20_000);
  for (let count = 0; count < 2; count += 1) throttle.fail('ana');
  assert.ok(throttle.waitMs('ana') > 0);
});

test('a failure that is taken back does not count', () => {
  const throttle = createThrottle({ burst: 1, everyMs: 1_000 }, createFakeClock());
  throttle.fail('ana');
  throttle.fail('ana');
  throttle.undo('ana');
  assert.equal(throttle.waitMs('ana'), 1_000);
  throttle.undo('ana');
  assert.equal(throttle.waitMs('ana'), 0);
});
