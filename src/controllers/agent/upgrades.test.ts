import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUpgrades } from './upgrades.ts';

test('a few Agents change at a time, and one that does not come back keeps its place', () => {
  const upgrades = createUpgrades(2);
  assert.deepEqual([upgrades.admit('a'), upgrades.admit('b'), upgrades.admit('c')], [true, true, false]);
  assert.equal(upgrades.admit('a'), true, 'its place is its own');
  upgrades.release('b');
  assert.deepEqual([upgrades.admit('c'), upgrades.admit('b')], [true, false]);
});
