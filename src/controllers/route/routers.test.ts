import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lease } from '#api/core-kinds.ts';
import { routerTableAnnotation } from '#api/labels.ts';
import { createCache } from '#kube/cache.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { catchUpMs, watchRouters } from './routers.ts';

let version = 0;
function lease(name: string, digest: string): Lease {
  version += 1;
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name,
      namespace: 'default',
      resourceVersion: String(version),
      annotations: { [routerTableAnnotation]: digest },
    },
    spec: { leaseDurationSeconds: 45 },
  };
}

function stage() {
  const clock = createFakeClock();
  const cache = createCache<Lease>();
  return { clock, cache, routers: watchRouters(cache, clock) };
}

test('a router that says nothing for the time of its Lease is gone, and somebody is told', async () => {
  const { clock, cache, routers } = stage();
  let told = 0;
  const stop = routers.onGone(() => {
    told += 1;
  });
  cache.upsert(lease('a', 'd1'));
  cache.upsert(lease('b', 'd1'));
  await clock.advance(30_000);
  cache.upsert(lease('b', 'd1'));
  assert.deepEqual([...routers.look('d1').published.keys()], ['a', 'b']);
  await clock.advance(15_000);
  assert.deepEqual([...routers.look('d1').published.keys()], ['b']);
  assert.equal(told, 1);
  stop();
  assert.equal(clock.pending, 0);
});

test('a router that ended does not count from then on', () => {
  const { cache, routers } = stage();
  const a = lease('a', 'd1');
  cache.upsert(a);
  cache.remove(a);
  assert.equal(routers.look('d1').published.size, 0);
});

test('a router is late when it has not followed a change for a while, however often it renews', async () => {
  const { clock, cache, routers } = stage();
  cache.upsert(lease('a', 'd1'));
  assert.deepEqual([...routers.look('d2').late], []);
  await clock.advance(catchUpMs - 1);
  cache.upsert(lease('a', 'd1'));
  assert.deepEqual([...routers.look('d2').late], []);
  await clock.advance(1);
  assert.deepEqual([...routers.look('d2').late], ['a']);
  cache.upsert(lease('a', 'd2'));
  assert.deepEqual([...routers.look('d2').late], []);
});
