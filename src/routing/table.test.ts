import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { staticRootAnnotation } from '#api/labels.ts';
import type { RouteSpecInput } from '#api/route.ts';
import { concernsTable } from './concerns.ts';
import { createResolver, type Resolution } from './resolve.ts';
import { buildRoutingTable, type RoutingTable, type TableInput } from './table.ts';
import { agentNamed, routeNamed } from './testing.ts';

function tableOf(input: Partial<TableInput>): RoutingTable {
  return buildRoutingTable({ agents: [], routes: [], homeNamespace: 'default', hostClaims: {}, ...input });
}

function describe(resolution: Resolution): string {
  switch (resolution.kind) {
    case 'mcp':
      return `mcp of ${resolution.surface.source}: ${resolution.surface.agents.join(',')}`;
    case 'agent-mcp':
    case 'agent-task':
      return `${resolution.kind} ${resolution.target.name}`;
    case 'api':
    case 'static':
      return `${resolution.kind} ${resolution.target.name} ${resolution.rest}`;
    case 'unknown-agent':
      return `unknown ${resolution.name}`;
    default:
      return resolution.kind;
  }
}

const demo = agentNamed('demo');
const site = agentNamed('site', { annotations: { [staticRootAnnotation]: 'true' } });
const elsewhere = agentNamed('far', { namespace: 'other' });

const defaults: Record<string, string> = {
  '/mcp': 'mcp of defaults: demo,site',
  '/mcp/': 'mcp of defaults: demo,site',
  '/mcps/demo/mcp': 'agent-mcp demo',
  '/mcp/demo/mcp': 'agent-mcp demo',
  '/mcps/demo/task': 'agent-task demo',
  '/mcps/demo/foo': 'agent-other',
  '/mcps/demo': 'agent-other',
  '/mcps/zzz/mcp': 'unknown zzz',
  '/mcps/far/mcp': 'unknown far',
  '/mcps/demo/mcp/x': 'agent-other',
  '/apis/demo/one/two': 'api demo /one/two',
  '/apis/demo': 'api demo /',
  '/apis/zzz/one': 'unknown zzz',
  '/demo/index.html': 'static demo /index.html',
  '/demo': 'static demo /',
  '/': 'static site /',
  '/app/main.js': 'static site /app/main.js',
  '/mcpx': 'static site /mcpx',
};
for (const [path, expected] of Object.entries(defaults)) {
  test(`without any Route ${path} is: ${expected}`, () => {
    const resolve = createResolver(tableOf({ agents: [demo, site, elsewhere] }));
    assert.equal(describe(resolve('localhost', path)), expected);
  });
}

test('without a static root nothing is at / but agents’ files', () => {
  const resolve = createResolver(tableOf({ agents: [demo] }));
  assert.equal(resolve('localhost', '/').kind, 'none');
  assert.equal(describe(resolve('localhost', '/demo/a.css')), 'static demo /a.css');
});

test('no home namespace, no defaults', () => {
  assert.deepEqual(tableOf({ agents: [demo], homeNamespace: undefined }).surfaces, []);
});

test('a Route serves its agents under its paths and hosts', () => {
  const route = routeNamed('r', {
    agents: [{ name: 'demo' }],
    hosts: ['*.example.org'],
    paths: ['/team'],
    mcp: { mode: 'Single' },
    api: {},
    static: { path: '/files' },
  });
  const resolve = createResolver(tableOf({ agents: [demo, site], routes: [route] }));
  assert.equal(describe(resolve('a.example.org', '/team/mcp')), 'agent-mcp demo');
  assert.equal(describe(resolve('a.example.org', '/team/apis/demo/x')), 'api demo /x');
  assert.equal(describe(resolve('a.example.org', '/team/apis/site/x')), 'unknown site');
  assert.equal(describe(resolve('a.example.org', '/team/files/demo/x')), 'static demo /x');
  assert.equal(describe(resolve('example.org', '/team/mcp')), 'static site /team/mcp');
});

const changing: Record<string, Partial<RouteSpecInput>> = {
  'a filter of tools': { mcp: { mode: 'Single', tools: { deny: ['x'] } } },
  'a filter of resources': { mcp: { mode: 'Single', resources: { deny: ['x'] } } },
  'a filter of prompts': { mcp: { mode: 'Single', prompts: { deny: ['x'] } } },
  'lists that may fail': { mcp: { mode: 'Single' }, backends: { failureMode: 'Fail' } },
};
for (const [what, spec] of Object.entries(changing)) {
  test(`a Single surface with ${what} is not the agent’s own`, () => {
    const route = routeNamed('r', { agents: [{ name: 'demo' }], paths: ['/team'], ...spec });
    const resolve = createResolver(tableOf({ agents: [demo], routes: [route] }));
    assert.equal(describe(resolve('localhost', '/team/mcp')), 'mcp of default/r: demo');
  });
}

test('a Route of the home namespace wins over the defaults', () => {
  const route = routeNamed('r', { agents: [{ name: 'demo' }], mcp: {} });
  const resolve = createResolver(tableOf({ agents: [demo, site], routes: [route] }));
  assert.equal(describe(resolve('localhost', '/mcp')), 'mcp of default/r: demo');
});

test('the oldest Route wins a place and the other is told whose it is', () => {
  const older = routeNamed('z', { selector: {}, mcp: {} }, { created: '2026-01-01T00:00:00Z' });
  const newer = routeNamed('a', { selector: {}, mcp: {} }, { created: '2026-01-02T00:00:00Z' });
  const table = tableOf({ agents: [demo], routes: [newer, older] });
  assert.equal(table.verdicts.get('default/z')?.accepted.ok, true);
  const lost = table.verdicts.get('default/a')?.accepted;
  assert.equal(lost?.reason, 'Conflict');
  assert.match(lost?.message ?? '', /default\/z is older/);
});

test('another namespace serves only on hosts that it may claim, and shows nothing of the home namespace there', () => {
  const spec = { selector: {}, hosts: ['far.example.org'], mcp: {} };
  const route = routeNamed('r', spec, { namespace: 'other' });
  const agents = [demo, elsewhere];
  const refused = tableOf({ agents, routes: [route] });
  assert.equal(refused.verdicts.get('other/r')?.accepted.reason, 'HostNotAllowed');
  const table = tableOf({ agents, routes: [route], hostClaims: { other: ['*.example.org'] } });
  const resolve = createResolver(table);
  assert.equal(describe(resolve('far.example.org', '/mcp')), 'mcp of other/r: far');
  assert.equal(describe(resolve('far.example.org', '/mcps/demo/mcp')), 'none');
  assert.equal(describe(resolve('localhost', '/mcps/demo/mcp')), 'agent-mcp demo');
  const everywhere = routeNamed('e', { selector: {}, mcp: {} }, { namespace: 'other' });
  const refusal = (hostClaims: Record<string, string[]>) =>
    tableOf({ agents, routes: [everywhere], hostClaims }).verdicts.get('other/e')?.accepted;
  assert.deepEqual(refusal({}), {
    ok: false,
    reason: 'HostNotAllowed',
    message:
      'spec.hosts: namespace other may not claim host "*" (no host in spec.hosts means every host). It may claim none; the administrator can let it claim more: hostClaims of the chart.',
  });
  assert.match(
    refusal({ other: ['a.test', '*.b.test'] })?.message ?? '',
    /Name one of a\.test, \*\.b\.test;/,
  );
});

test('missing agents and empty selections are reported', () => {
  const missing = routeNamed('m', { agents: [{ name: 'demo' }, { name: 'gone' }], mcp: {} });
  const empty = routeNamed('e', { selector: { matchLabels: { a: 'b' } }, paths: ['/e'], mcp: {} });
  const { verdicts } = tableOf({ agents: [demo], routes: [missing, empty] });
  assert.equal(verdicts.get('default/m')?.resolved.reason, 'AgentNotFound');
  assert.equal(verdicts.get('default/m')?.agents, 1);
  assert.equal(verdicts.get('default/e')?.resolved.reason, 'NoAgentsSelected');
});

test('selectors choose by labels and expressions', () => {
  const agents = [
    agentNamed('a', { labels: { tier: 'x' } }),
    agentNamed('b', { labels: { tier: 'y' } }),
    agentNamed('c'),
  ];
  const pick = (
    matchExpressions: {
      key: string;
      operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
      values?: string[];
    }[],
  ) => {
    const route = routeNamed('r', { selector: { matchExpressions }, mcp: {} });
    return tableOf({ agents, routes: [route] })
      .surfaces.find((surface) => surface.source === 'default/r')
      ?.agents.join('');
  };
  assert.equal(pick([{ key: 'tier', operator: 'In', values: ['x'] }]), 'a');
  assert.equal(pick([{ key: 'tier', operator: 'NotIn', values: ['x'] }]), 'bc');
  assert.equal(pick([{ key: 'tier', operator: 'Exists' }]), 'ab');
  assert.equal(pick([{ key: 'tier', operator: 'DoesNotExist' }]), 'c');
});

test('the default aggregate stops at 200 agents and says so', () => {
  const agents = Array.from({ length: 201 }, (_, index) => agentNamed(`a${String(index).padStart(3, '0')}`));
  const table = tableOf({ agents });
  assert.equal(table.surfaces.find((surface) => surface.kind === 'mcp')?.agents.length, 200);
  assert.match(table.notes[0] ?? '', /first 200 of 201/);
});

test('two static roots: the oldest is served and the clash is noted', () => {
  const annotations = { [staticRootAnnotation]: 'true' };
  const agents = [
    agentNamed('b', { annotations, created: '2026-01-01T00:00:00Z' }),
    agentNamed('a', { annotations, created: '2026-02-01T00:00:00Z' }),
  ];
  const table = tableOf({ agents });
  assert.equal(describe(createResolver(table)('localhost', '/')), 'static b /');
  assert.match(table.notes[0] ?? '', /oldest, b,/);
});

test('an agent takes calls where its status says ready and not terminating, else says why not', () => {
  const endpoint = { name: 'w', address: 'unix:/x', ready: true, terminating: false };
  const conditions = [
    {
      type: 'Ready',
      status: 'False' as const,
      reason: 'Suspended',
      message: 'suspended',
      lastTransitionTime: '',
    },
  ];
  const agents = [
    agentNamed('up', {
      status: {
        endpoints: [
          { ...endpoint, uid: '2' },
          { ...endpoint, uid: '1' },
          { ...endpoint, uid: '0', terminating: true },
        ],
      },
    }),
    agentNamed('off', { status: { conditions } }),
    agentNamed('new'),
  ];
  const { targets } = tableOf({ agents });
  assert.deepEqual(
    targets.get('default/up')?.ready.map((ready) => ready.uid),
    ['1', '2'],
  );
  assert.deepEqual(targets.get('default/up')?.instances, ['2', '1', '0']);
  assert.equal(targets.get('default/off')?.unavailable?.passing, false);
  assert.equal(targets.get('default/new')?.unavailable?.passing, true);
});

const arbitraryRoutes = fc.array(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    namespace: fc.constantFrom('default', 'other'),
    created: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
    hosts: fc.uniqueArray(fc.constantFrom('a.example.org', '*.example.org'), { maxLength: 2 }),
    paths: fc.uniqueArray(fc.constantFrom('/', '/one', '/one/two'), { minLength: 1, maxLength: 2 }),
  }),
  { maxLength: 6 },
);

test('the table does not depend on the order of what it is made of, and no place is served twice', () => {
  fc.assert(
    fc.property(arbitraryRoutes, fc.nat(), (specs, seed) => {
      const unique = [...new Map(specs.map((spec) => [`${spec.namespace}/${spec.name}`, spec])).values()];
      const routes = unique.map(({ name, namespace, created, hosts, paths }) =>
        routeNamed(name, { selector: {}, hosts, paths, mcp: {}, api: {} }, { namespace, created }),
      );
      const agents = [demo, site, elsewhere];
      const hostClaims = { other: ['*.example.org'] };
      const rotate = <T>(list: T[]) => [
        ...list.slice(seed % (list.length || 1)),
        ...list.slice(0, seed % (list.length || 1)),
      ];
      const first = tableOf({ agents, routes, hostClaims });
      const second = tableOf({ agents: rotate(agents), routes: rotate(routes), hostClaims });
      assert.equal(first.digest, second.digest);
      assert.deepEqual([...first.verdicts].sort(), [...second.verdicts].sort());
      const places = first.surfaces.map(({ kind, place }) => `${kind} ${place.host} ${place.path}`);
      assert.equal(new Set(places).size, places.length);
    }),
  );
});

test('a table after many changes is the table of the same objects seen for the first time', () => {
  const change = fc.record({
    what: fc.constantFrom('route', 'agent', 'no route', 'no agent'),
    name: fc.constantFrom('a', 'b', 'c'),
    tier: fc.constantFrom('x', 'y'),
    path: fc.constantFrom('/', '/one'),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
      const agents = new Map([['demo', demo]]);
      const routes = new Map<string, ReturnType<typeof routeNamed>>();
      for (const { what, name, tier, path } of changes) {
        const chosen = tier === 'x' ? { selector: { matchLabels: { tier } } } : { agents: [{ name: 'a' }] };
        if (what === 'route') routes.set(name, routeNamed(name, { ...chosen, paths: [path], mcp: {} }));
        if (what === 'agent') agents.set(name, agentNamed(name, { labels: { tier } }));
        if (what === 'no route') routes.delete(name);
        if (what === 'no agent') agents.delete(name);
        const input = { agents: [...agents.values()], routes: [...routes.values()] };
        assert.deepEqual(tableOf(input), tableOf(structuredClone(input)));
      }
    }),
  );
});

test('the digest tells apart what is served, not what a Route’s status says', () => {
  const route = routeNamed('r', { selector: {}, paths: ['/one'], mcp: {} });
  const other = routeNamed('r', { selector: {}, paths: ['/two'], mcp: {} });
  const { digest } = tableOf({ agents: [demo], routes: [route] });
  assert.notEqual(tableOf({ agents: [demo], routes: [other] }).digest, digest);
  assert.notEqual(tableOf({ agents: [demo, site], routes: [route] }).digest, digest);
  assert.notEqual(tableOf({ agents: [demo], routes: [] }).digest, digest);
  assert.equal(tableOf({ agents: [demo], routes: [{ ...route, status: { agents: 1 } }] }).digest, digest);
});

test('a Route’s status concerns no table; its spec does, also at the same generation', () => {
  const stamp = (route: ReturnType<typeof routeNamed>) => ({
    ...route,
    metadata: { ...route.metadata, generation: 1 },
  });
  const old = stamp(routeNamed('r', { selector: {}, mcp: {} }));
  const updated = (object: typeof old) => concernsTable({ type: 'updated', object, old });
  assert.equal(updated({ ...old, status: { agents: 1 } }), false);
  assert.equal(updated(stamp(routeNamed('r', { selector: {}, api: {} }))), true);
  assert.equal(updated({ ...old, metadata: { ...old.metadata, deletionTimestamp: 'now' } }), true);
  assert.equal(concernsTable({ type: 'deleted', object: old }), true);
});

test('endpoints that come and go do not change the digest', () => {
  const status = {
    endpoints: [{ name: 'w', uid: '1', address: 'unix:/x', ready: true, terminating: false }],
  };
  assert.equal(
    tableOf({ agents: [demo] }).digest,
    tableOf({ agents: [agentNamed('demo', { status })] }).digest,
  );
  assert.notEqual(tableOf({ agents: [demo] }).digest, tableOf({ agents: [demo, site] }).digest);
});

test('of pods the table knows the slot, of other workloads none', () => {
  const of = (name: string) => {
    const endpoint = { name, uid: 'u', address: '10.0.0.1:7000', ready: true, terminating: false };
    const agent = agentNamed('web-1', { status: { endpoints: [endpoint], conditions: [] } });
    return tableOf({ agents: [agent] }).targets.get('default/web-1')?.ready[0]?.slot;
  };
  assert.equal(of('web-1-0-5f2ab'), 0);
  assert.equal(of('web-1-12-5f2ab'), 12);
  for (const name of ['web-1', 'web-1-5f2ab', 'web-0-5f2ab', 'web-1-x-5f2ab'])
    assert.equal(of(name), undefined, name);
});
