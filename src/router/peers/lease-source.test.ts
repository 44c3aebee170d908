import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lease } from '#api/core-kinds.ts';
import { routerPeerAnnotation } from '#api/labels.ts';
import { createCache } from '#kube/cache.ts';
import { formatMicroTime } from '#kube/micro-time.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createPeerBook } from './book.ts';
import { subscribeToPeers } from './lease-source.ts';
import type { PeerEvent } from './peers.ts';

let version = 0;
function lease(name: string, address: string | undefined, renewed: number): Lease {
  version += 1;
  const annotations = address === undefined ? {} : { [routerPeerAnnotation]: address };
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'home', resourceVersion: String(version), annotations },
    spec: { leaseDurationSeconds: 45, renewTime: formatMicroTime(renewed) },
  };
}

function stage() {
  const cache = createCache<Lease>();
  const events: PeerEvent[] = [];
  const stop = subscribeToPeers(cache, 'own', (event) => events.push(event));
  return { cache, events, stop };
}

const now = Date.UTC(2026, 0, 1);
const a = '10.0.0.1:8082';
const b = '10.0.0.2:8082';

test('each Lease but one’s own says where a router is and until when', () => {
  const { cache, events } = stage();
  cache.upsert(lease('own', b, now));
  cache.upsert(lease('other', a, now));
  cache.upsert(lease('other', a, now + 15_000));
  assert.deepEqual(events, [
    { type: 'alive', address: a, until: now + 45_000 },
    { type: 'alive', address: a, until: now + 60_000 },
  ]);
});

test('a Lease that goes, or names another address, takes the router with it', () => {
  const { cache, events } = stage();
  cache.upsert(lease('other', a, now));
  const moved = lease('other', b, now);
  cache.upsert(moved);
  cache.remove(moved);
  assert.deepEqual(
    events.map(({ type, address }) => [type, address]),
    [
      ['alive', a],
      ['left', a],
      ['alive', b],
      ['left', b],
    ],
  );
});

test('a Lease without an address, with a name for one or without times is passed over', () => {
  const { cache, events } = stage();
  cache.upsert(lease('laptop', undefined, now));
  cache.upsert(lease('named', 'router.example.org:80', now));
  const timeless = lease('timeless', a, now);
  cache.upsert({ ...timeless, spec: {} });
  assert.deepEqual(events, [{ type: 'alive', address: a, until: 0 }]);
});

test('the Lease of a router that was killed long ago makes no peer', () => {
  const book = createPeerBook(createFakeClock(now));
  assert.equal(book.alive(a, now), false);
  assert.deepEqual(book.reachable(), []);
  assert.equal(book.alive(b, now + 1), true);
  assert.deepEqual(book.reachable(), [b]);
});

test('a router that answers is kept however old its Lease is; one that does not, until its time is over', async () => {
  const clock = createFakeClock(now);
  const book = createPeerBook(clock);
  for (const address of [a, b]) {
    book.alive(address, now + 45_000);
    book.met(address);
  }
  book.lost(b);
  assert.deepEqual(book.reachable(), [a]);
  assert.equal(book.alive(a, now + 45_000), false);
  assert.equal(book.alive(b, now + 45_000), true);
  await clock.advance(3_600_000);
  assert.deepEqual(book.reachable(), [a]);
  assert.equal(book.greeting(b), false);
});

test('a router that was lost counts from its greeting on, and is asked to ask in turn', () => {
  const book = createPeerBook(createFakeClock(now));
  book.alive(a, now + 45_000);
  assert.equal(book.greeting(a), false);
  book.lost(a);
  assert.equal(book.greeting(a), true);
  assert.deepEqual(book.reachable(), [a]);
});

test('while a greeting is on its way nobody sends another', () => {
  const book = createPeerBook(createFakeClock(now));
  assert.equal(book.alive(a, now + 45_000), true);
  book.greeting(a);
  assert.equal(book.alive(a, now + 45_000), false);
  book.lost(a);
  assert.equal(book.alive(a, now + 45_000), true);
});

test('a router that said goodbye is told for a minute more', async () => {
  const clock = createFakeClock(now);
  const book = createPeerBook(clock);
  book.alive(a, now + 45_000);
  book.left(a);
  await clock.advance(59_000);
  assert.deepEqual(book.reachable(), [a]);
  await clock.advance(1_000);
  assert.deepEqual(book.reachable(), []);
});
