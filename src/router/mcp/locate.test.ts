import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteSpecInput } from '#api/route.ts';
import { buildRoutingTable } from '#routing/table.ts';
import { agentNamed, routeNamed } from '#routing/testing.ts';
import { createFakeClock, settle } from '#test/fixtures/fake-clock.ts';
import type { ListKind } from '../catalog/list-kinds.ts';
import { mergeParts } from '../catalog/merge-parts.ts';
import { RouterError } from '../errors.ts';
import { type Lists, locate } from './locate.ts';

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
