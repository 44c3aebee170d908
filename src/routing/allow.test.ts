import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AllowRule } from './access.ts';
import { allowanceOf, type Credentials, mayUse } from './allow.ts';

const nobody: Credentials = { roles: [], scopes: [], claims: {} };
const viewer: Credentials = { ...nobody, roles: ['viewer'] };

test('without rules everybody may use everything, with an empty list nobody anything', () => {
  assert.ok(mayUse(undefined, nobody, 'tools', 'read'));
  assert.ok(!mayUse([], { ...viewer, scopes: undefined }, 'tools', 'read'));
});

test('one rule must name the tool and be met: one of its roles, all claims, all scopes', () => {
  const rules: AllowRule[] = [
    { tools: ['read_*'], roles: ['viewer', 'editor'] },
    {
      tools: ['write_*'],
      roles: ['editor'],
      claims: [
        { name: 'team', values: ['red', 'blue'] },
        { name: 'realm_access.level', values: ['7'] },
      ],
      scopes: ['write', 'files'],
    },
  ];
  const editor = {
    roles: ['editor'],
    scopes: ['files', 'write', 'other'],
    claims: { team: ['green', 'blue'], realm_access: { level: 7 } },
  };
  assert.ok(mayUse(rules, viewer, 'tools', 'read_file'));
  assert.ok(!mayUse(rules, viewer, 'tools', 'write_file'));
  assert.ok(!mayUse(rules, nobody, 'tools', 'read_file'));
  assert.ok(mayUse(rules, editor, 'tools', 'write_file'));
  assert.ok(mayUse(rules, { ...editor, scopes: undefined }, 'tools', 'write_file'));
  assert.ok(!mayUse(rules, { ...editor, scopes: ['write'] }, 'tools', 'write_file'));
  assert.ok(!mayUse(rules, { ...editor, claims: { team: 'blue' } }, 'tools', 'write_file'));
  assert.ok(!mayUse(rules, editor, 'tools', 'delete'));
});

test('what rules do not name is not there, resources and prompts too', () => {
  const rules: AllowRule[] = [{ tools: ['*'] }, { resources: ['file:///public/*'], prompts: ['hello'] }];
  assert.ok(!mayUse([{ tools: ['*'] }], viewer, 'resources', 'file:///x'));
  assert.ok(!mayUse([{ tools: ['*'] }], viewer, 'prompts', 'hello'));
  assert.ok(mayUse(rules, viewer, 'resources', 'file:///public/a'));
  assert.ok(mayUse(rules, viewer, 'prompts', 'hello'));
  assert.ok(!mayUse(rules, viewer, 'resources', 'file:///private/a'));
});

test('a URI that climbs out of a folder is not below it', () => {
  const rules: AllowRule[] = [{ resources: ['file:///public/*'] }];
  for (const way of ['../secret', 'a/../../secret', '%2e%2E/secret', '.%2e%2fsecret', '..\\secret', 'a%2F..'])
    assert.ok(!mayUse(rules, viewer, 'resources', `file:///public/${way}`), way);
  for (const name of ['a..b', '...', 'a/..b/c'])
    assert.ok(mayUse(rules, viewer, 'resources', `file:///public/${name}`), name);
  assert.ok(mayUse([{ resources: ['*'] }], viewer, 'resources', 'file:///a/../b'));
});

test('claims that an object has from its kind are none', () => {
  for (const name of ['constructor', 'toString', '__proto__', 'team.constructor.name'])
    assert.ok(
      !mayUse(
        [{ tools: ['*'], claims: [{ name, values: ['Object', 'String', 'undefined'] }] }],
        { ...viewer, claims: { team: {} } },
        'tools',
        'x',
      ),
      name,
    );
});

test('the scopes that are told are those of a rule that nothing else keeps from the caller, the fewest', () => {
  const allowance = allowanceOf([
    { tools: ['write'], roles: ['admin'], scopes: ['a'] },
    { tools: ['write'], roles: ['viewer'], scopes: ['a', 'b', 'c'] },
    { tools: ['write'], scopes: ['b', 'd'] },
    { tools: ['read'], scopes: ['a'] },
  ]);
  assert.deepEqual(allowance.scopesFor(viewer, 'tools', 'write'), ['b', 'd']);
  assert.deepEqual(allowance.scopesFor({ ...viewer, scopes: ['a', 'b'] }, 'tools', 'write'), ['a', 'b', 'c']);
  assert.equal(allowance.scopesFor({ ...viewer, scopes: ['a'] }, 'tools', 'read'), undefined);
  assert.equal(allowance.scopesFor(viewer, 'tools', 'other'), undefined);
});

const names = ['read', 'write', 'read_a', 'a', 'ab'];
const scopeNames = ['s1', 's2', 's3'];
const glob = fc.constantFrom('*', 'read*', '*a', 'a?', '?', 'write', 'read_a', '*e*');
const some = <T>(...values: T[]) => fc.subarray(values);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const claim = fc.record({
  name: fc.constantFrom('team', 'level'),
  values: some('red', 'blue', '7').filter((values) => values.length > 0),
});
const rule: fc.Arbitrary<AllowRule> = fc.record({
  tools: maybe(fc.array(glob, { minLength: 1, maxLength: 3 })),
  prompts: maybe(fc.array(glob, { minLength: 1, maxLength: 2 })),
  roles: maybe(some('viewer', 'editor', 'admin')),
  claims: maybe(fc.array(claim, { maxLength: 2 })),
  scopes: maybe(some(...scopeNames)),
});
const caller: fc.Arbitrary<Credentials> = fc.record({
  roles: some('viewer', 'editor', 'admin', 'other'),
  scopes: maybe(some(...scopeNames)),
  claims: fc.constantFrom<Credentials['claims']>({}, { team: 'red' }, { team: ['blue', 'x'], level: 7 }),
});
const kind = fc.constantFrom('tools' as const, 'prompts' as const);

/** The same question, asked without any of the code that answers it. */
function oracle(
  rules: readonly AllowRule[],
  who: Credentials,
  what: 'tools' | 'prompts',
  name: string,
): boolean {
  return rules.some((one) => {
    const globs = (one[what] ?? []).map((text) => `^${text.replaceAll('*', '.*').replaceAll('?', '.')}$`);
    if (!globs.some((pattern) => new RegExp(pattern).test(name))) return false;
    if (one.roles && !one.roles.some((role) => who.roles.includes(role))) return false;
    if (who.scopes && (one.scopes ?? []).some((scope) => !who.scopes?.includes(scope))) return false;
    return (one.claims ?? []).every((asked) =>
      [who.claims[asked.name] ?? []].flat().some((had) => asked.values.includes(`${had}`)),
    );
  });
}

test('whatever the rules, who meets them and names something may use it, and nobody else', () => {
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 5 }), caller, kind, (rules, who, what) => {
      for (const name of names) assert.equal(mayUse(rules, who, what, name), oracle(rules, who, what, name));
    }),
    { numRuns: 500 },
  );
});

test('callers with one grant key may use the same; another rule, role or scope takes nothing away', () => {
  const rules = fc.array(rule, { maxLength: 5 });
  fc.assert(
    fc.property(rules, rule, caller, caller, (list, added, one, other) => {
      const allowance = allowanceOf(list);
      const [left, right] = [allowance.grantOf(one), allowance.grantOf(other)];
      const can = (grant: typeof left) => names.filter((name) => grant.permits('tools', name));
      if (left.key === right.key) assert.deepEqual(can(left), can(right));
      assert.equal(allowance.grantOf({ ...one }), left);
      const more = can(allowanceOf([...list, added]).grantOf(one));
      const stronger = can(
        allowance.grantOf({ ...one, roles: ['viewer', 'editor', 'admin'], scopes: undefined }),
      );
      for (const name of can(left)) assert.ok(more.includes(name) && stronger.includes(name));
    }),
    { numRuns: 500 },
  );
});

test('with the scopes that are told a call is let through, and they are told to nobody else', () => {
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 5 }), caller, (rules, who) => {
      const allowance = allowanceOf(rules);
      for (const name of names) {
        const told = allowance.scopesFor(who, 'tools', name);
        const unlimited = mayUse(rules, { ...who, scopes: undefined }, 'tools', name);
        assert.equal(told !== undefined, unlimited && !mayUse(rules, who, 'tools', name));
        const stepped = { ...who, scopes: [...(who.scopes ?? []), ...(told ?? [])] };
        if (told !== undefined) assert.ok(mayUse(rules, stepped, 'tools', name));
      }
    }),
    { numRuns: 500 },
  );
});
