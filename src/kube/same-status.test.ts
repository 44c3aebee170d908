import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sameStatus } from './same-status.ts';

const ready = { type: 'Ready', status: 'True' };
const halted = { type: 'Halted', status: 'False' };

const table: Record<string, { current?: object; desired: object; owned?: string[]; same: boolean }> = {
  'no status is as an empty one': { desired: {}, same: true },
  'a new field is a change': { current: { a: 1 }, desired: { a: 1, b: 2 }, same: false },
  'a field that goes is a change': { current: { a: 1, b: 2 }, desired: { a: 1 }, same: false },
  'undefined counts as absent': { current: { a: 1 }, desired: { a: 1, b: undefined }, same: true },
  'the order of members does not count': { current: { a: 1, b: 2 }, desired: { b: 2, a: 1 }, same: true },
  'the order of conditions does not count': {
    current: { conditions: [ready, halted] },
    desired: { conditions: [halted, ready] },
    same: true,
  },
  'a condition that goes is a change': {
    current: { conditions: [ready, halted] },
    desired: { conditions: [ready] },
    same: false,
  },
  'the order of other lists counts': { current: { l: [1, 2] }, desired: { l: [2, 1] }, same: false },
  'fields of others do not count': { current: { a: 1, b: 2 }, desired: { a: 1 }, owned: ['a'], same: true },
  'own fields count': { current: { a: 1, b: 2 }, desired: { a: 2, b: 2 }, owned: ['a'], same: false },
};

describe('sameStatus', () => {
  for (const [name, { current, desired, owned, same }] of Object.entries(table)) {
    test(name, () => assert.equal(sameStatus(current, desired, owned), same));
  }
});
