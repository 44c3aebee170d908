import assert from 'node:assert/strict';
import { it } from 'node:test';
import { editDistance, suggest } from './suggest.ts';

const distances: readonly [string, string, number][] = [
  ['', '', 0],
  ['', 'abc', 3],
  ['mpc', 'mcp', 1],
  ['replica', 'replicas', 1],
  ['evn', 'env', 1],
  ['kitten', 'sitting', 3],
];

it('counts insertions, deletions, replacements and swaps', () => {
  for (const [from, to, expected] of distances) {
    assert.equal(editDistance(from, to), expected, `${from} → ${to}`);
    assert.equal(editDistance(to, from), expected, `${to} → ${from}`);
  }
});

it('suggests the nearest known word, and nothing when none is near', () => {
  const known = ['env', 'mcp', 'runtime', 'network'];
  assert.equal(suggest('ENV', known), 'env');
  assert.equal(suggest('runtme', known), 'runtime');
  assert.equal(suggest('whatever', known), undefined);
  assert.equal(suggest('x'.repeat(100_000), known), undefined);
});
