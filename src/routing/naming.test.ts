import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { filterNames, matchesGlob, type Named, passes, renamed, renamedBack } from './names-filter.ts';
import { exposeNames, hidesNothing, isLegalName } from './naming.ts';

function exposed(items: Named[], naming: 'Conflict' | 'Always' | 'Never' = 'Conflict'): string[] {
  return exposeNames(items, naming).items.map((item) => item.exposed);
}
const items: Named[] = [
  { agent: 'demo', name: 'echo' },
  { agent: 'demo', name: 'add' },
  { agent: 'other', name: 'echo' },
];

test('Conflict prefixes only what collides, Always everything, Never lets the first agent win', () => {
  assert.deepEqual(exposed(items), ['demo_echo', 'add', 'other_echo']);
  assert.deepEqual(exposed(items, 'Always'), ['demo_echo', 'demo_add', 'other_echo']);
  assert.deepEqual(exposed(items, 'Never'), ['echo', 'add']);
  assert.deepEqual([...exposeNames(items, 'Conflict').conflicts], [['echo', ['demo', 'other']]]);
});

test('a tool that is named like a prefixed one gets a prefix too', () => {
  const names = exposed([...items, { agent: 'third', name: 'demo_echo' }]);
  assert.deepEqual(names, ['demo_echo', 'add', 'other_echo', 'third_demo_echo']);
});

test('whatever the names, Conflict and Always expose each item under a name of its own, whatever the order', () => {
  const long = 'y'.repeat(130);
  const odd = exposeNames([{ agent: 'a', name: 'a b' }], 'Never').items.map(({ exposed }) => exposed);
  const name = fc.constantFrom('a', 'b', 'a_b', 'b_a', 'a_a_b', 'b_a_b', 'x_a_b', 'a b', 'a?b', long, ...odd);
  const list = fc.uniqueArray(fc.record({ agent: fc.constantFrom('a', 'b', 'x'), name }), {
    selector: (item) => `${item.agent}/${item.name}`,
  });
  fc.assert(
    fc.property(
      list,
      fc.constantFrom('Conflict' as const, 'Always' as const, 'Never' as const),
      (tools, naming) => {
        const forward = exposeNames(tools, naming).items;
        assert.equal(new Set(forward.map((item) => item.exposed)).size, forward.length);
        if (naming !== 'Never') assert.equal(forward.length, tools.length);
        assert.ok(forward.every((item) => isLegalName(item.exposed)));
        const key = (item: Named & { exposed: string }) => `${item.agent}/${item.name}=${item.exposed}`;
        const backward = exposeNames(tools.toReversed(), naming).items;
        assert.deepEqual(forward.map(key).sort(), backward.map(key).sort());
      },
    ),
  );
});

test('a name that is too long or not legal gets a hash, the same each time; one agent alone keeps its names', () => {
  const long = 'get_'.repeat(40);
  const named = (items: Named[]) => exposed(items, 'Conflict');
  const [short, spaced, hidden] = named([
    { agent: 'demo', name: long },
    { agent: 'demo', name: 'say hello, world' },
    { agent: 'demo', name: 'ad\u200Bd' },
  ]);
  assert.equal(short?.length, 128);
  assert.ok(short?.startsWith('get_get_'));
  assert.match(spaced ?? '', /^say_hello_world_[0-9a-f]{8}$/);
  assert.match(hidden ?? '', /^ad_d_[0-9a-f]{8}$/);
  assert.notEqual(named([{ agent: 'other', name: long }])[0], short);
  const alone = exposeNames([{ agent: 'demo', name: 'say hello' }], 'Conflict', hidesNothing).items;
  assert.equal(alone[0]?.exposed, 'say hello');
});

test('renames take one star along, and are read back', () => {
  const filter = {
    rename: [
      { from: 'db_*', to: 'store.*' },
      { agent: 'demo', from: 'x', to: 'y' },
    ],
  };
  const cases: [string, string, string][] = [
    ['demo', 'db_read', 'store.read'],
    ['demo', 'x', 'y'],
    ['other', 'x', 'x'],
    ['demo', 'db', 'db'],
  ];
  for (const [agent, name, to] of cases) {
    assert.equal(renamed({ agent, name }, filter), to);
    assert.equal(renamedBack({ agent, name: to }, filter), name);
  }
  assert.equal(passes('db_read', { deny: ['*_read'] }), false);
});

test('filters allow, deny and rename by the agents’ own names', () => {
  const filter = { allow: ['e*'], deny: ['*x'], rename: [{ agent: 'demo', from: 'echo', to: 'say' }] };
  const shown = filterNames([...items, { agent: 'demo', name: 'ex' }], filter).map((item) => item.shown);
  assert.deepEqual(shown, ['say', 'echo']);
});

test('globs match as written', () => {
  const cases: [string, string, boolean][] = [
    ['echo', 'echo', true],
    ['echo', 'e*', true],
    ['echo', 'e?ho', true],
    ['echo', '*', true],
    ['', '*', true],
    ['echo', 'e', false],
    ['echo', '*x*', false],
    ['a.b', 'a?b', true],
    ['axb', 'a.b', false],
  ];
  for (const [text, glob, matches] of cases)
    assert.equal(matchesGlob(text, glob), matches, `${text} ${glob}`);
});

test('no glob takes long', { timeout: 5000 }, () => {
  assert.equal(matchesGlob('a'.repeat(255), `${'*a'.repeat(120)}b`), false);
});
