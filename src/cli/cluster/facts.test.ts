import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lease } from '#api/core-kinds.ts';
import { judgeVersion } from './doctor/api.ts';
import { signOf } from './facts.ts';

const now = Date.parse('2026-01-01T00:01:00Z');

function lease(spec: NonNullable<Lease['spec']>): Lease {
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' }, spec };
}

test('a Lease is a sign of life for as long as it says, and some for clocks that differ', () => {
  const at = (renewTime: string) =>
    signOf(lease({ holderIdentity: 'a', leaseDurationSeconds: 15, renewTime }), now);
  assert.deepEqual(at('2026-01-01T00:00:50.000000Z'), { holder: 'a', alive: true, age: 10_000 });
  assert.equal(at('2026-01-01T00:00:41.000000Z').alive, true);
  assert.equal(at('2026-01-01T00:00:39.000000Z').alive, false);
  // From a clock that is ahead.
  assert.deepEqual(at('2026-01-01T00:01:03.000000Z'), { holder: 'a', alive: true, age: 0 });
});

test('a Lease that was given up, or says nothing, is none', () => {
  const renewTime = '2026-01-01T00:01:00.000000Z';
  assert.equal(signOf(lease({ holderIdentity: '', leaseDurationSeconds: 1, renewTime }), now).alive, false);
  assert.equal(signOf(lease({ holderIdentity: 'a' }), now).alive, false);
});

test('versions of Kubernetes are judged by their minor, whatever a vendor adds', () => {
  for (const git of ['v1.30.0', 'v1.36.3', 'v1.31.2-eks-1234', 'v2.0.0'])
    assert.equal(judgeVersion(git, '').level, 'ok', git);
  for (const git of ['v1.29.9', 'v1.9.0', '']) assert.equal(judgeVersion(git, '').level, 'fail', git);
});
