import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Agent } from '#api/agent.ts';
import { staticRootAnnotation } from '#api/labels.ts';
import type { Route, RouteSpecInput } from '#api/route.ts';
import { keyTextOf } from '#kube/key.ts';
import { changesBetween, type TableChanges } from './changes.ts';
import { createTableKeeper } from './keeper.ts';
import { buildRoutingTable, type RoutingTable } from './table.ts';
import { agentNamed, routeNamed } from './testing.ts';

const rules = { homeNamespace: 'default', hostClaims: { other: ['*.example.org'] } };
const namespaces = fc.constantFrom('default', 'other');
const names = fc.constantFrom('a', 'b', 'c', 'd');
const ages = fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z');
const tiers = fc.constantFrom('x', 'y', 'z');

const agents = fc
  .record({
    name: names,
    namespace: namespaces,
    labels: fc.record({ tier: tiers, zone: tiers }, { requiredKeys: [] }),
    created: ages,
    isRoot: fc.boolean(),
    address: fc.option(fc.constantFrom('unix:/one', 'unix:/two')),
    uid: fc.constantFrom('one', 'another'),
    isGoing: fc.boolean(),
  })
  .map(({ name, namespace, labels, created, isRoot, address, uid, isGoing }): Agent => {
    const endpoint = { name, uid: `${name}-0`, ready: true, terminating: false };
    const agent = agentNamed(name, {
      ...{ namespace, labels, created, uid: `${uid}-${name}` },
      ...(isRoot && { annotations: { [staticRootAnnotation]: 'true' } }),
      ...(address !== null && { status: { endpoints: [{ ...endpoint, address }] } }),
    });
    return isGoing ? { ...agent, metadata: { ...agent.metadata, deletionTimestamp: created } } : agent;
  });

const choices: fc.Arbitrary<Pick<RouteSpecInput, 'agents' | 'selector'>> = fc.oneof(
  names.map((name) => ({ agents: [{ name }] })),
  fc.constant({ agents: ['b', 'a'].map((name) => ({ name })) }),
  fc.constant({ selector: {} }),
  fc.dictionary(fc.constantFrom('tier', 'zone'), tiers).map((matchLabels) => ({ selector: { matchLabels } })),
  fc
    .record({
      key: fc.constantFrom('tier', 'none'),
      operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
    })
    .map((expression) => ({ selector: { matchExpressions: [expression] } })),
);
const paths = fc.uniqueArray(fc.constantFrom('/', '/one', '/two'), { minLength: 1, maxLength: 2 });
const hosts = fc.uniqueArray(fc.constantFrom('a.example.org', 'b.example.org', 'example.com'), {
  maxLength: 2,
});
const routes = fc
  .record({
    ...{ name: names, namespace: namespaces, created: ages, choice: choices, paths, hosts },
    surfaces: fc.constantFrom<Partial<RouteSpecInput>>(
      { mcp: {} },
      { api: {} },
      { mcp: {}, api: {}, static: {} },
    ),
    isGoing: fc.boolean(),
  })
  .map(({ name, namespace, created, choice, surfaces, isGoing, ...places }): Route => {
    const route = routeNamed(name, { ...choice, ...surfaces, ...places } as RouteSpecInput, {
      namespace,
      created,
    });
    return isGoing ? { ...route, metadata: { ...route.metadata, deletionTimestamp: created } } : route;
  });

const steps = fc.array(
  fc.record({
    change: fc.oneof(
      { weight: 4, arbitrary: agents.map((agent) => ({ agent })) },
      { weight: 4, arbitrary: routes.map((route) => ({ route })) },
      { weight: 1, arbitrary: agents.map((gone) => ({ goneAgent: gone })) },
      { weight: 1, arbitrary: routes.map((gone) => ({ goneRoute: gone })) },
    ),
    isLookedAt: fc.boolean(),
  }),
  { maxLength: 40, size: 'max' },
);

/** Keeps a table and, beside it, what there is. */
function stage() {
  const keeper = createTableKeeper(rules);
  const there = { agents: new Map<string, Agent>(), routes: new Map<string, Route>() };
  function apply(change: { agent?: Agent; route?: Route; goneAgent?: Agent; goneRoute?: Route }): void {
    const { agent, route, goneAgent, goneRoute } = change;
    if (agent) {
      there.agents.set(keyTextOf(agent), agent);
      keeper.putAgent(agent);
    }
    if (route) {
      there.routes.set(keyTextOf(route), route);
      keeper.putRoute(route);
    }
    if (goneAgent) {
      there.agents.delete(keyTextOf(goneAgent));
      keeper.removeAgent(goneAgent);
    }
    if (goneRoute) {
      there.routes.delete(keyTextOf(goneRoute));
      keeper.removeRoute(goneRoute);
    }
  }
  const fromScratch = () =>
    buildRoutingTable({ ...rules, agents: [...there.agents.values()], routes: [...there.routes.values()] });
  return { keeper, apply, fromScratch };
}

/** Names at which two tables say something else. */
function differences(before: RoutingTable, after: RoutingTable): { [K in keyof TableChanges]: string[] } {
  const differing = (left: ReadonlyMap<string, unknown>, right: ReadonlyMap<string, unknown>) =>
    [...new Set([...left.keys(), ...right.keys()])].filter(
      (name) => JSON.stringify(left.get(name)) !== JSON.stringify(right.get(name)),
    );
  return {
    targets: differing(before.targets, after.targets),
    verdicts: differing(before.verdicts, after.verdicts),
  };
}

test('a kept table is that of the same Agents and Routes seen for the first time, whatever came before', () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const { keeper, apply, fromScratch } = stage();
      for (const { change, isLookedAt } of sequence) {
        apply(change);
        if (isLookedAt) assert.deepEqual(keeper.table(), fromScratch());
      }
      assert.deepEqual(keeper.table(), fromScratch());
    }),
    { numRuns: 300 },
  );
});

test('all that differs between two tables is said to have changed', () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const { keeper, apply } = stage();
      let before = keeper.table();
      for (const { change, isLookedAt } of sequence) {
        apply(change);
        if (!isLookedAt) continue;
        const after = keeper.table();
        const said = changesBetween(before, after);
        const found = differences(before, after);
        const unsaid = [
          ...found.targets.filter((name) => !said.targets.has(name)),
          ...found.verdicts.filter((name) => !said.verdicts.has(name)),
        ];
        assert.deepEqual(unsaid, []);
        before = after;
      }
    }),
  );
});

test('a table stays the same object while nothing that it says changes', () => {
  const { keeper, apply } = stage();
  const route = routeNamed('r', { selector: {}, mcp: {} });
  apply({ agent: agentNamed('a', { labels: { tier: 'x' } }) });
  apply({ route });
  const table = keeper.table();
  apply({ agent: agentNamed('a', { labels: { tier: 'y' } }) });
  assert.equal(keeper.table(), table);
  const status = {
    endpoints: [{ name: 'a', uid: '1', address: 'unix:/a', ready: true, terminating: false }],
  };
  apply({ agent: agentNamed('a', { status }) });
  assert.notEqual(keeper.table(), table);
  assert.equal(keeper.table().surfaces, table.surfaces);
  assert.equal(keeper.table().digest, table.digest);
});

test('changes between tables of which neither was made of the other are found by looking', () => {
  const tables = [
    ['a', 'b'],
    ['b', 'c'],
  ].map((present) =>
    buildRoutingTable({ ...rules, agents: present.map((name) => agentNamed(name)), routes: [] }),
  );
  const [first, second] = tables as [RoutingTable, RoutingTable];
  assert.deepEqual([...changesBetween(first, second).targets].sort(), [
    'default/a',
    'default/b',
    'default/c',
  ]);
  assert.deepEqual([...changesBetween(undefined, second).targets].sort(), ['default/b', 'default/c']);
  assert.equal(changesBetween(first, first).targets.size, 0);
});
