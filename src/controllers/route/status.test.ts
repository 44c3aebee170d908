import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Route, routeSpecSchema } from '#api/route.ts';
import type { RouteVerdict } from '#routing/table.ts';
import { routeStatus } from './status.ts';

const now = new Date('2026-01-01T12:00:00Z');
const served: RouteVerdict = {
  accepted: { ok: true, reason: 'Accepted', message: 'The Route is served.' },
  resolved: { ok: true, reason: 'ResolvedRefs', message: 'Everything exists.' },
  agents: 2,
};
const clash: RouteVerdict = {
  ...served,
  accepted: { ok: false, reason: 'Conflict', message: 'Route default/old is older.' },
};

function makeRoute(): Route {
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Route',
    metadata: { name: 'tools', namespace: 'default', generation: 3 },
    spec: routeSpecSchema.parse({ agents: [{ name: 'demo' }], mcp: {} }),
  };
}

function summary(
  route: Route,
  verdict: RouteVerdict,
  published: [string, string][],
  late: readonly string[] = [],
): Record<string, string> {
  const facts = { wanted: 'd2', published: new Map(published), late: new Set(late) };
  const status = routeStatus(route, verdict, facts, now);
  return Object.fromEntries(
    status.conditions?.map(({ type, status, reason }) => [type, `${status}/${reason}`]) ?? [],
  );
}

test('a Route is Programmed when every router serves the newest table', () => {
  const conditions = summary(makeRoute(), served, [
    ['router-a', 'd2'],
    ['router-b', 'd2'],
  ]);
  assert.deepEqual(conditions, {
    Accepted: 'True/Accepted',
    ResolvedRefs: 'True/ResolvedRefs',
    Programmed: 'True/Programmed',
  });
});

test('one router that is behind keeps it Pending', () => {
  const conditions = summary(makeRoute(), served, [
    ['router-a', 'd2'],
    ['router-b', 'd1'],
  ]);
  assert.equal(conditions['Programmed'], 'False/Pending');
});

test('a Route that is served stays Programmed while a router follows another change, not when it is late', () => {
  const route = makeRoute();
  route.status = routeStatus(
    route,
    served,
    { wanted: 'd1', published: new Map([['router-a', 'd1']]), late: new Set() },
    now,
  );
  assert.equal(summary(route, served, [['router-a', 'd1']])['Programmed'], 'True/Programmed');
  assert.equal(summary(route, served, [['router-a', 'd1']], ['router-a'])['Programmed'], 'False/Pending');
  const changed = { ...route, metadata: { ...route.metadata, generation: 4 } };
  assert.equal(summary(changed, served, [['router-a', 'd1']])['Programmed'], 'False/Pending');
});

test('no router is not the same as every router', () => {
  assert.equal(summary(makeRoute(), served, [])['Programmed'], 'False/Pending');
});

test('a Route that clashes is neither Accepted nor Programmed', () => {
  const conditions = summary(makeRoute(), clash, [['router-a', 'd2']]);
  assert.deepEqual(
    [conditions['Accepted'], conditions['Programmed']],
    ['False/Conflict', 'False/NotAccepted'],
  );
});

test('the same verdict later gives the same status', () => {
  const facts = { wanted: 'd2', published: new Map([['router-a', 'd2']]), late: new Set<string>() };
  const first = routeStatus(makeRoute(), served, facts, now);
  const again = routeStatus(
    { ...makeRoute(), status: first },
    served,
    facts,
    new Date(now.getTime() + 60_000),
  );
  assert.deepEqual(again, first);
});

test('a Route that asks who comes says where alone it does', () => {
  const facts = { wanted: 'd2', published: new Map([['r', 'd2']]), late: new Set<string>() };
  const acceptedOf = (spec: Route['spec'], verdict: RouteVerdict) =>
    routeStatus({ ...makeRoute(), spec }, verdict, facts, now).conditions?.[0]?.message;
  const { spec } = makeRoute();
  const asking: Route['spec'] = { ...spec, auth: { ...spec.auth, mode: 'pwd' } };
  assert.match(acceptedOf(asking, served) ?? '', /served\. Its auth counts at its own addresses alone/);
  assert.equal(acceptedOf(spec, served), 'The Route is served.', 'the control');
  assert.equal(acceptedOf(asking, clash), 'Route default/old is older.');
});
