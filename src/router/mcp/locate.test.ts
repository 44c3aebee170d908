import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteSpecInput } from '#api/route.ts';
import { buildRoutingTable } from '#routing/table.ts';
import { agentNamed, routeNamed } from '#routing/testing.ts';
import { createFakeClock, settle } from '#test/fixtures/fake-clock.ts';
import type { ListKind } from '../catalog/list-kinds.ts';
import { mergeParts } from '../catalog/merge-parts.ts';
import { RouterError } from '../errors.ts';
import { type Lists, locate, locateUri } from './locate.ts';

const clock = createFakeClock();
const listed = { a: ['mine', 'shared'], b: ['yours', 'shared'] };
const parts = Object.entries(listed).map(([agent, names]) => ({
  agent,
  items: names.map((name) => ({ name })),
}));

function surfaceOf(spec: Partial<RouteSpecInput>) {
  const table = buildRoutingTable({
    agents: [agentNamed('a'), agentNamed('b')],
    routes: [routeNamed('team', { paths: ['/team'], mcp: {}, ...spec })],
    ...{ homeNamespace: 'default', hostClaims: {} },
  });
  const surface = table.surfaces.find(({ source }) => source === 'default/team');
  assert.ok(surface?.kind === 'mcp');
  return surface;
}

const before = surfaceOf({ selector: {} });

/** The last list is the one of the Route as it was before; the new one is on its way. */
function listsWith(fresh: ReturnType<Lists['views']['of']>): Lists {
  const last = (_: unknown, kind: ListKind) => mergeParts(parts, before, kind);
  return { clock, views: { current: () => undefined, of: () => fresh, last, uris: () => undefined } };
}

/** What is answered before the new list is there; undefined: nothing. */
async function atOnce(spec: Partial<RouteSpecInput>, name: string, kind: ListKind, wanted?: string) {
  const fresh = Promise.withResolvers<never>();
  let found: unknown;
  const located = locate(listsWith(fresh.promise), surfaceOf(spec), kind, name, wanted);
  const told = Promise.resolve(located).then(({ agent }) => {
    found = agent;
  });
  await clock.advance(100);
  await settle();
  if (found === undefined) fresh.reject(new RouterError('NotFound', 'no more'));
  await told.catch(() => undefined);
  return found;
}

test('a call goes by the last list for the moment that the new one takes too long', async () => {
  assert.equal(await atOnce({ selector: {} }, 'mine', 'tools'), 'a');
  assert.equal(await atOnce({ agents: [{ name: 'a' }] }, 'mine', 'tools'), 'a');
});

test('what a Route shows no more is not served by the list from before', async () => {
  assert.equal(await atOnce({ agents: [{ name: 'a' }] }, 'yours', 'tools'), undefined);
  assert.equal(await atOnce({ agents: [{ name: 'a' }] }, 'a_shared', 'tools', 'b'), undefined);
  const tools = { deny: ['mine'] };
  assert.equal(await atOnce({ selector: {}, mcp: { tools } }, 'mine', 'tools'), undefined);
  assert.equal(await atOnce({ selector: {}, mcp: { prompts: tools } }, 'mine', 'prompts'), undefined);
  assert.equal(await atOnce({ selector: {}, mcp: { prompts: tools } }, 'mine', 'tools'), 'a');
});

test('a call goes by the last list when no new one can be made', async () => {
  const broken = Promise.reject(new Error('broken'));
  const owner = await locate(listsWith(broken), before, 'tools', 'mine');
  assert.equal(owner.agent, 'a');
});

/** A surface whose lists are these templates, and how often all of them were looked through. */
function templatesOf(templates: Readonly<Record<string, readonly string[]>>) {
  let walks = 0;
  class Counted<K, V> extends Map<K, V> {
    override values() {
      walks += 1;
      return super.values();
    }
  }
  const empty = mergeParts([], before, 'resources');
  const asked = Object.entries(templates).map(([agent, names]) => ({
    agent,
    items: names.map((uriTemplate) => ({ uriTemplate })),
  }));
  const made = mergeParts(asked, before, 'templates');
  const view = { ...made, byExposed: new Counted(made.byExposed) };
  const pick = (kind: ListKind) => (kind === 'templates' ? view : empty);
  const views: Lists['views'] = {
    current: (_, kind) => pick(kind),
    of: async (_, kind) => pick(kind),
    last: () => undefined,
    uris: () => undefined,
  };
  return { lists: { clock, views }, walks: () => walks };
}

test('a URI is of the template with the longest beginning, of the first of those', async () => {
  const { lists } = templatesOf({
    a: ['db://{id}', 'db://rows/{id}', '{any}'],
    b: ['db://rows/old/{id}', 'file:///{path}', 'file:///{name}'],
  });
  const ownerOf = (uri: string, wanted?: string) =>
    locateUri(lists, before, uri, wanted).then(
      ({ agent }) => agent,
      () => undefined,
    );
  assert.equal(await ownerOf('db://7'), 'a');
  assert.equal(await ownerOf('db://rows/7'), 'a');
  assert.equal(await ownerOf('db://rows/old/7'), 'b');
  assert.equal(await ownerOf('db://rows/old/7', 'a'), 'a');
  assert.equal(await ownerOf('file:///x'), 'b');
  assert.equal(await ownerOf('db:/'), undefined);
});

test('however many URIs are asked for, templates are looked through once', async () => {
  const { lists, walks } = templatesOf({ a: ['db://{id}'], b: ['file:///{path}'] });
  const surface = surfaceOf({ selector: {}, mcp: { resources: { allow: ['db://{id}'] } } });
  const uris = Array.from({ length: 50 }, (_, index) => `db://${index}`);
  for (const uri of uris) assert.equal((await locateUri(lists, surface, uri)).agent, 'a');
  for (const uri of uris) assert.equal((await locateUri(lists, surface, `ploinky://a/${uri}`)).name, uri);
  assert.equal(walks(), 1);
});
