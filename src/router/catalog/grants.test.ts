import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RouteSpecInput } from '#api/route.ts';
import { type Access, type AllowRule, accessOf, bearerRealm, type SsoAccess } from '#routing/access.ts';
import { matchesGlob } from '#routing/names-filter.ts';
import type { McpSurface } from '#routing/surface.ts';
import { buildRoutingTable } from '#routing/table.ts';
import { agentNamed, routeNamed } from '#routing/testing.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { userOf } from '../auth/bearer/user.ts';
import { anonymous, type Caller } from '../caller.ts';
import { locate } from '../mcp/locate.ts';
import type { Catalog } from './catalog.ts';
import { createGrants } from './grants.ts';
import { createViews } from './views.ts';

type Tools = Readonly<Record<string, readonly string[]>>;

interface Given {
  readonly tools: Tools;
  readonly mcp?: RouteSpecInput['mcp'];
  readonly ofRoute?: Access | undefined;
  readonly ofAgents?: Readonly<Record<string, Access | undefined>>;
}

const realm = 'default/people';

function access(allow: readonly AllowRule[] | undefined, mode: Access['mode'] = 'pwd', of = realm): Access {
  return { mode, realm: of, issuers: [], allow };
}

function personWith(roles: readonly string[], of = realm): Caller {
  const user = { sub: 'u', id: 'u', email: '', username: 'u', roles, realm: of };
  return { ...anonymous, user, proof: 'password', realm: of };
}

/** Views of a Route over agents with these tools, and what narrows it. */
function stage({ tools, mcp, ofRoute, ofAgents = {} }: Given) {
  const endpoint = { name: 'x', uid: 'x', address: 'unix:/x', ready: true, terminating: false };
  const agents = Object.keys(tools).map((name) => agentNamed(name, { status: { endpoints: [endpoint] } }));
  const route = routeNamed('team', { selector: {}, paths: ['/team'], mcp: { ...mcp } });
  const built = buildRoutingTable({ agents, routes: [route], homeNamespace: 'default', hostClaims: {} });
  const guarded = new Map(
    Object.entries(ofAgents).flatMap(([name, asked]) => (asked ? [[`default/${name}`, asked] as const] : [])),
  );
  const found = built.surfaces.find(({ source, kind }) => source === 'default/team' && kind === 'mcp');
  assert.ok(found?.kind === 'mcp');
  const surface: McpSurface = { ...found, ...(ofRoute && { access: ofRoute }) };
  const now = { table: { ...built, guarded } };
  const tables = { current: () => now.table, synced: true, subscribe: () => () => undefined };
  const catalog: Catalog = {
    version: 1,
    last: () => [],
    freshUntil: () => Number.POSITIVE_INFINITY,
    retain: () => false,
    part: async ({ name: agent }, kind) => ({
      agent,
      items: kind === 'tools' ? (tools[agent] ?? []).map((name) => ({ name })) : [],
    }),
  };
  const clock = createFakeClock();
  const views = createViews({ tables, catalog, clock, backendDeadlineMs: 500 });
  return { clock, views, surface, now, narrow: createGrants({ tables }).narrow };
}

async function listed({ views }: ReturnType<typeof stage>, surface: McpSurface): Promise<string[]> {
  return (await views.of(surface, 'tools')).items.map(({ exposed }) => exposed);
}

test('where nothing asks, everybody gets the surface itself', () => {
  const { narrow, surface } = stage({ tools: { a: ['x'] } });
  assert.equal(narrow(surface, anonymous), surface);
});

test('agents that do not admit a caller, or let them call nothing, are as if they were not there', async () => {
  const { narrow, surface, views } = stage({
    tools: { a: ['x'], b: ['x'], c: ['x'] },
    ofAgents: {
      b: access(undefined, 'pwd', 'default/others'),
      c: access([{ tools: ['x'], roles: ['admin'] }]),
    },
  });
  const narrowed = narrow(surface, personWith([]));
  assert.deepEqual(narrowed.agents, ['a']);
  const view = await views.of(narrowed, 'tools');
  assert.deepEqual([...view.byExposed.keys()], ['a_x'], 'a name means the same to everybody');
  assert.deepEqual([view.conflicts.size, view.errors, view.emptyAgents], [0, [], []]);
  assert.deepEqual(narrow(surface, personWith(['admin'])).agents, ['a', 'c']);
});

test('roles of another realm are none, also where guests may come in', () => {
  const rules: AllowRule[] = [{ tools: ['x'], roles: ['admin'] }];
  for (const mode of ['pwd', 'guest', 'none'] as const) {
    const { narrow, surface } = stage({ tools: { a: ['x'] }, ofRoute: access(rules, mode) });
    assert.deepEqual(narrow(surface, personWith(['admin'], 'default/others')).agents, [], mode);
    assert.deepEqual(narrow(surface, anonymous).agents, [], mode);
  }
  const { narrow, surface } = stage({ tools: { a: ['x'] }, ofRoute: access(rules) });
  assert.deepEqual(narrow(surface, personWith(['admin'])).agents, ['a']);
});

test('who acts for somebody has their roles, the scopes that the token says, and no claims', () => {
  const rule = (more: Partial<AllowRule>) => [{ tools: ['x'], ...more }];
  const { proof: _proof, ...person } = personWith(['admin']);
  const delegated: Caller = { ...person, principal: 'agent:default/z', proof: 'delegation', hop: 1 };
  const seen = (more: Partial<AllowRule>, who: Caller) => {
    const { narrow, surface } = stage({ tools: { a: ['x'] }, ofRoute: access(rule(more)) });
    return narrow(surface, who).agents.length === 1;
  };
  assert.ok(seen({ roles: ['admin'] }, delegated));
  assert.ok(seen({ scopes: ['s'] }, delegated), 'the person was not limited');
  assert.ok(seen({ scopes: ['s'] }, { ...delegated, scopes: ['s'] }));
  assert.ok(!seen({ scopes: ['s'] }, { ...delegated, scopes: [] }));
  const { proof: _none, ...unproven } = delegated;
  assert.ok(!seen({ scopes: ['s'] }, unproven));
  assert.ok(seen({ scopes: ['s'] }, personWith([])), 'a person is limited by roles');
  assert.ok(!seen({ claims: [{ name: 'team', values: ['red'] }] }, delegated));
});

test('callers who may use the same share lists, and what rules say now counts at once', async () => {
  const rules: AllowRule[] = [{ tools: ['x'], roles: ['one', 'two'] }];
  const made = stage({ tools: { a: ['x', 'y'] }, ofAgents: { a: access(rules) } });
  const { narrow, surface, views, now } = made;
  const one = await views.of(narrow(surface, personWith(['one'])), 'tools');
  const two = await views.of(narrow(surface, personWith(['two'])), 'tools');
  assert.equal(one, two);
  const person = personWith(['one']);
  assert.equal(narrow(surface, person), narrow(surface, person));
  now.table = { ...now.table, guarded: new Map([['default/a', access([{ tools: ['y'] }])]]) };
  const narrowed = narrow(surface, person);
  assert.deepEqual([...(views.current(narrowed, 'tools')?.byExposed.keys() ?? [])], ['y']);
});

type Rename = { agent?: string; from: string; to: string }[];

const roles = ['viewer', 'editor', 'admin', 'auditor'];
const names = ['read', 'read_a', 'write', 'write_a', 'a', 'ab'];
const glob = fc.constantFrom('*', 'read*', '*_a', 'write', 'a', 'a_*', 'b_read', 'shown_*', 'c?read', '*e');
const rule: fc.Arbitrary<AllowRule> = fc.record({
  tools: fc.array(glob, { minLength: 1, maxLength: 3 }),
  roles: fc.option(fc.subarray(roles), { nil: undefined }),
});
const rules = fc.option(fc.array(rule, { maxLength: 4 }), { nil: undefined });
const given = fc.record({
  tools: fc.record({
    a: fc.subarray(names),
    b: fc.subarray(names),
    c: fc.subarray(names),
  }),
  naming: fc.constantFrom('Conflict' as const, 'Always' as const, 'Never' as const),
  rename: fc.constantFrom<Rename>(
    [],
    [{ from: 'read*', to: 'shown_*' }],
    [{ agent: 'b', from: 'a', to: 'write' }],
  ),
  deny: fc.constantFrom<string[]>([], ['*_a']),
  search: fc.boolean(),
  ofRoute: rules,
  ofA: rules,
  ofB: rules,
  locked: fc.boolean(),
  role: fc.constantFrom(...roles, 'none'),
});

function fits(list: readonly AllowRule[] | undefined, role: string, name: string): boolean {
  if (list === undefined) return true;
  return list.some(
    (one) =>
      (one.roles === undefined || one.roles.includes(role)) &&
      one.tools?.some((pattern) => matchesGlob(name, pattern)),
  );
}

test('whatever rules, roles, names and renames: what is listed can be called, and nothing else', async () => {
  let kept = 0;
  await fc.assert(
    fc.asyncProperty(given, async (one) => {
      const { naming, rename, deny, search, role, locked } = one;
      const made = stage({
        tools: one.tools,
        mcp: {
          ...{ naming, tools: { rename, deny } },
          ...(search && { optimize: { mode: 'Search', above: 1 } }),
        },
        ofRoute: one.ofRoute && access(one.ofRoute),
        ofAgents: {
          a: one.ofA && access(one.ofA),
          b: one.ofB && access(one.ofB),
          c: locked ? access(undefined, 'pwd', 'default/others') : undefined,
        },
      });
      const { views, surface } = made;
      const narrowed = made.narrow(surface, personWith([role]));
      const all = [...(await views.of(surface, 'tools')).byExposed.values()];
      const own = { a: one.ofA, b: one.ofB } as Record<string, readonly AllowRule[] | undefined>;
      const expected = all.filter(
        ({ agent, name, exposed }) =>
          fits(one.ofRoute, role, exposed) && fits(own[agent], role, name) && !(locked && agent === 'c'),
      );
      const list = await listed(made, narrowed);
      assert.deepEqual(
        list,
        expected.map(({ exposed }) => exposed),
      );
      for (const { exposed, name, agent } of all) {
        const called = await ownerOf(made, narrowed, exposed);
        assert.equal(called !== undefined, list.includes(exposed), exposed);
        const named = await ownerOf(made, narrowed, name, agent);
        assert.equal(named !== undefined, list.includes(exposed), `${name} of ${agent}`);
      }
      kept += all.length - list.length;
    }),
    { numRuns: 300 },
  );
  assert.ok(kept > 300, 'rules that keep nothing from anybody say nothing');
});

async function ownerOf(made: ReturnType<typeof stage>, surface: McpSurface, name: string, wanted?: string) {
  try {
    return await locate(made, surface, 'tools', name, wanted);
  } catch {
    return undefined;
  }
}

test('roles of an issuer’s tokens are those that an Access maps itself, whichever was asked first', () => {
  const url = 'https://id.example.org';
  const provider = { issuer: url, clientId: 'c' };
  const of = (sso: Partial<SsoAccess> | undefined, allow?: readonly AllowRule[]): Access => ({
    ...{ mode: 'none', realm: '', issuers: [{ url, audiences: ['all'] }], allow },
    ...(sso && { sso: { ...provider, ...sso } }),
  });
  const mine = of({ rolesClaim: 'sub', roles: [{ value: 'eve', role: 'admin' }] });
  const onlyAdmins: AllowRule[] = [{ tools: ['x'], roles: ['admin'] }];
  const theirs = { rolesClaim: 'groups', roles: [{ value: 'bosses', role: 'admin' }] };
  const caller = (asked: Access, proof: 'bearer' | 'delegation', groups: string[] = []): Caller => {
    const claims = { sub: 'eve', aud: 'all', groups };
    const realm = bearerRealm(url, asked);
    const user = { ...userOf(url, claims, asked.sso), realm };
    return { ...anonymous, user, proof, realm, ...(proof === 'bearer' && { claims, scopes: [] }) };
  };
  const agentsFor = (ofAgent: Access, who: Caller) => {
    const { narrow, surface } = stage({ tools: { a: ['x'] }, ofAgents: { a: ofAgent } });
    return narrow(surface, who).agents.length;
  };
  for (const proof of ['bearer', 'delegation'] as const) {
    assert.equal(agentsFor({ ...mine, allow: onlyAdmins }, caller(mine, proof)), 1, 'the control');
    assert.equal(agentsFor(of(undefined), caller(mine, proof)), 1, 'the issuer counts all the same');
    assert.equal(agentsFor(of(undefined, onlyAdmins), caller(mine, proof)), 0, proof);
    assert.equal(agentsFor(of(theirs, onlyAdmins), caller(mine, proof)), 0, proof);
  }
  assert.equal(agentsFor(of(theirs, onlyAdmins), caller(mine, 'bearer', ['bosses'])), 1, 'their own mapping');
  assert.equal(agentsFor(of(theirs, onlyAdmins), caller(of(theirs), 'delegation', ['bosses'])), 1);
  // What begins as a login in a browser is no token of the issuer, whatever its client is called.
  const named = accessOf({ mode: 'sso', sso: { issuer: url, clientId: '=0' } }, 'default', 'z')?.realm ?? '';
  const passedOn: Caller = { ...caller(mine, 'delegation'), realm: named };
  assert.equal(agentsFor(of(undefined), passedOn), 0);
});
