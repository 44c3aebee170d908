import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { exposeNames, filterNames, matchesGlob, type Named } from './naming.ts';

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
  const name = fc.constantFrom('a', 'b', 'a_b', 'b_a', 'a_a_b', 'b_a_b', 'x_a_b');
  const list = fc.uniqueArray(fc.record({ agent: fc.constantFrom('a', 'b', 'x'), name }), {
    selector: (item) => `${item.agent}/${item.name}`,
  });
  fc.assert(
    fc.property(list, fc.constantFrom('Conflict' as const, 'Always' as const), (tools, naming) => {
      const forward = exposeNames(tools, naming).items;
      assert.equal(new Set(forward.map((item) => item.exposed)).size, tools.length);
      const key = (item: Named & { exposed: string }) => `${item.agent}/${item.name}=${item.exposed}`;
      const backward = exposeNames(tools.toReversed(), naming).items;
      assert.deepEqual(forward.map(key).sort(), backward.map(key).sort());
    }),
  );
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
