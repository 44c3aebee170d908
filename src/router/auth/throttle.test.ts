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
