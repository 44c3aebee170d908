import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from '#api/route.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createPatience } from './patience.ts';
import type { RouterFacts } from './status.ts';

const behind: RouterFacts = { wanted: 'new', published: new Map([['r', 'old']]), late: new Set() };
const caughtUp: RouterFacts = { ...behind, published: new Map([['r', 'new']]) };

function route(generation: number, observedGeneration?: number): Route {
  const status = observedGeneration === undefined ? {} : { status: { observedGeneration } };
  return { metadata: { name: 'a', namespace: 'default', generation }, ...status } as unknown as Route;
}

test('a changed Route waits for routers that follow, a quarter of a second at most', async () => {
  const clock = createFakeClock();
  const patience = createPatience(clock);
  assert.equal(patience.left(route(2, 1), behind), 250);
  await clock.advance(100);
  assert.equal(patience.left(route(2, 1), behind), 150);
  assert.equal(patience.left(route(3, 1), behind), 250, 'another change begins anew');
  await clock.advance(250);
  assert.equal(patience.left(route(3, 1), behind), 0);
});

test('nobody waits when the routers are there, when there are none, or when the change was spoken of', () => {
  const patience = createPatience(createFakeClock());
  assert.equal(patience.left(route(1), caughtUp), 0);
  assert.equal(patience.left(route(1), { ...behind, published: new Map() }), 0);
  assert.equal(patience.left(route(1), { ...behind, late: new Set(['r']) }), 0);
  assert.equal(patience.left(route(1, 1), behind), 0);
});

test('a Route that was forgotten begins anew', async () => {
  const clock = createFakeClock();
  const patience = createPatience(clock);
  patience.left(route(1), behind);
  await clock.advance(200);
  patience.forget('default/a');
  assert.equal(patience.left(route(1), behind), 250);
});
