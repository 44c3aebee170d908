import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare } from './baseline.ts';
import { scoreOf } from './score.ts';
import type { Check, Scenario } from './suite.ts';

function scenario(name: string, scored: boolean, ...statuses: Check['status'][]): Scenario {
  return { name, scored, checks: statuses.map((status, index) => ({ id: `c${index}`, status })) };
}

test('only scenarios that count make the score; warnings and skipped checks are no checks', () => {
  const score = scoreOf([
    scenario('good', true, 'SUCCESS', 'WARNING', 'SKIPPED'),
    scenario('bad', true, 'SUCCESS', 'FAILURE'),
    scenario('extra', false, 'FAILURE'),
  ]);
  assert.deepEqual(score.scenarios, { passed: 1, of: 2 });
  assert.deepEqual(score.checks, { passed: 2, of: 3 });
  assert.deepEqual(score.unscored, { passed: 0, of: 1 });
  assert.deepEqual(score.failures, ['bad:c1', 'extra:c0']);
});

test('a scenario in which nothing was checked does not pass, and has to be expected like a failure', () => {
  const score = scoreOf([scenario('empty', true), scenario('told', true, 'INFO')]);
  assert.deepEqual(score.scenarios, { passed: 0, of: 2 });
  assert.deepEqual(score.failures, ['empty:nothing-checked', 'told:nothing-checked']);
});

test('the baseline is wrong both when something new fails and when something expected to fail passes', () => {
  assert.deepEqual(compare(['a:1', 'b:1'], ['b:1', 'c:1']), { broken: ['c:1'], mended: ['a:1'] });
  assert.deepEqual(compare(['a:1'], ['a:1']), { broken: [], mended: [] });
});
