import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildRoutingTable } from '#routing/table.ts';
import { agentNamed } from '#routing/testing.ts';
import { createFakeClock, settle } from '#test/fixtures/fake-clock.ts';
import type { Catalog, Part } from './catalog.ts';
import { createViews } from './views.ts';

function stage() {
  const clock = createFakeClock();
  const endpoint = { name: 'x', uid: 'x', address: 'unix:/x', ready: true, terminating: false };
  const agents = ['a', 'slow'].map((name) => agentNamed(name, { status: { endpoints: [endpoint] } }));
  const table = buildRoutingTable({ agents, routes: [], homeNamespace: 'default', hostClaims: {} });
  const slow = Promise.withResolvers<Part>();
  let asked = 0;
  const catalog = {
    version: 1,
    last: () => [],
    freshUntil: () => Number.POSITIVE_INFINITY,
    retain: () => false,
    part(target: { name: string }) {
      asked += 1;
      return target.name === 'slow'
        ? slow.promise
        : Promise.resolve({ agent: 'a', items: [{ name: 'echo' }] });
    },
  } satisfies Catalog;
  const now = { table };
  const tables = { current: () => now.table, synced: true, subscribe: () => () => undefined };
  const views = createViews({ tables, catalog, clock, backendDeadlineMs: 500 });
  const surface = table.surfaces.find((one) => one.kind === 'mcp');
  assert.ok(surface?.kind === 'mcp');
  return { clock, catalog, views, surface, slow, now, asked: () => asked };
}

test('however many wait for a list, it is made once and one timer runs', async () => {
  const { clock, views, surface, asked } = stage();
  const lists = Array.from({ length: 100 }, () => views.of(surface, 'tools'));
  await settle();
  assert.deepEqual([asked(), clock.pending], [2, 1]);
  await clock.advance(500);
  const made = await Promise.all(lists);
  assert.ok(made.every((view) => view === made[0]));
  assert.deepEqual(made[0]?.errors, [{ agent: 'slow', message: 'did not answer within 500 ms' }]);
  assert.equal(views.current(surface, 'tools'), made[0]);
  assert.equal(clock.pending, 0);
});

test('a call does not wait for lists of resources beyond a moment, and not at all once there is one', async () => {
  const { clock, views, surface, catalog } = stage();
  const first = views.uris(surface);
  assert.ok(first instanceof Promise);
  await clock.advance(100);
  assert.equal(await first, undefined);
  await clock.advance(400);
  assert.equal(views.uris(surface) instanceof Promise, false);
  catalog.version = 2;
  assert.equal(views.uris(surface) instanceof Promise, false);
  await clock.advance(500);
});

test('a list that was begun before the table changed is given once, and not kept', async () => {
  const { views, surface, slow, now } = stage();
  const begun = views.of(surface, 'tools');
  now.table = { ...now.table };
  slow.resolve({ agent: 'slow', items: [] });
  assert.equal((await begun).items.length, 1);
  assert.equal(views.current(surface, 'tools'), undefined);
});

test('a list that was made while an agent came back is made again', async () => {
  const { clock, views, surface, catalog, slow } = stage();
  const partial = views.of(surface, 'tools');
  await clock.advance(500);
  assert.equal((await partial).items.length, 1);
  slow.resolve({ agent: 'slow', items: [{ name: 'late' }] });
  catalog.version = 2;
  assert.equal((await views.of(surface, 'tools')).items.length, 2);
});

test('URIs go by the last lists when new ones cannot be made', async () => {
  const { clock, views, surface, catalog } = stage();
  const first = views.uris(surface);
  await clock.advance(500);
  await first;
  catalog.version = 2;
  catalog.part = () => {
    throw new Error('broken');
  };
  // A rejection that nobody handles would fail this test.
  assert.equal(views.uris(surface), undefined);
  await settle();
});

test('a list that could not be made is made anew for whoever asks next', async () => {
  const { clock, catalog, views, surface } = stage();
  const { part } = catalog;
  catalog.part = () => {
    throw new Error('broken');
  };
  await assert.rejects(views.of(surface, 'tools'), /broken/);
  await assert.rejects(views.of(surface, 'tools'), /broken/);
  catalog.part = part;
  const list = views.of(surface, 'tools');
  await settle();
  await clock.advance(500);
  assert.deepEqual(
    (await list).items.map(({ exposed }) => exposed),
    ['echo'],
  );
});

test('a list whose agents list the same is the same, with all that was made of it', async () => {
  const { clock, catalog, views, surface } = stage();
  const list = { agent: 'a', items: [{ name: 'echo' }] };
  const given = { a: list, slow: { agent: 'slow', items: [{ name: 'late' }] } };
  catalog.part = async ({ name }) => given[name === 'a' ? 'a' : 'slow'];
  const first = await views.of(surface, 'tools');
  first.memo.set('made', 'of it');
  catalog.version += 1;
  const second = await views.of(surface, 'tools');
  assert.equal(second, first);
  given.a = { agent: 'a', items: [{ name: 'echo' }] };
  catalog.version += 1;
  const third = await views.of(surface, 'tools');
  assert.notEqual(third, first, 'another list is another one, whatever it says');
  assert.equal(third.memo.size, 0);
  assert.equal(clock.pending, 0);
});
