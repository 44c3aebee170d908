import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Condition } from '#api/meta.ts';
import { noticesOf } from './events.ts';

type Told = readonly [type: string, status: Condition['status'], reason: string];

function status(...told: Told[]) {
  return {
    conditions: told.map(([type, status, reason]) => ({
      ...{ type, status, reason, message: `${reason}.` },
      lastTransitionTime: '2026-01-01T00:00:00Z',
    })),
  };
}

const starting = status(['Accepted', 'True', 'Accepted'], ['Ready', 'False', 'Starting']);
const cases: Record<string, { after: ReturnType<typeof status>; told: string[] }> = {
  'that it is Ready': { after: status(['Ready', 'True', 'Ready']), told: ['Normal Ready'] },
  'that it waits for another': {
    after: status(['Ready', 'False', 'DependencyNotReady']),
    told: ['Normal DependencyNotReady'],
  },
  'a fault, once': {
    after: status(['Ready', 'False', 'InstallFailed'], ['Degraded', 'True', 'InstallFailed']),
    told: ['Warning InstallFailed'],
  },
  'a halt': {
    after: status(['Ready', 'False', 'Starting'], ['Halted', 'True', 'CrashLoop']),
    told: ['Warning CrashLoop'],
  },
  'a refusal': {
    after: status(['Ready', 'False', 'Starting'], ['Accepted', 'False', 'Invalid']),
    told: ['Warning Invalid'],
  },
  'nothing twice': { after: starting, told: [] },
};
for (const [what, { after, told }] of Object.entries(cases)) {
  test(`an Agent’s Events tell ${what}`, () => {
    assert.deepEqual(
      noticesOf(starting, after).map(({ type, reason }) => `${type} ${reason}`),
      told,
    );
  });
}

test('that an Agent starts is no Event', () => {
  const installing = status(['Ready', 'False', 'Installing']);
  assert.deepEqual([...noticesOf(undefined, starting), ...noticesOf(starting, installing)], []);
});
