import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NetworkPolicy } from '#api/cluster-kinds.ts';
import { managedByLabel, managedByValue } from '#api/labels.ts';
import type { Secret } from '#api/meta.ts';
import { agentSecretType } from './names.ts';
import { createTrimPolicy, trimSecret } from './trim.ts';

describe('what the caches keep', () => {
  const own: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: agentSecretType,
    metadata: { name: 'demo-agent', namespace: 'one', labels: { [managedByLabel]: managedByValue } },
    data: { 'config.json': 'e30=' },
  };

  it('leaves the content of the own Secrets out', () => {
    const { data: _, ...rest } = own;
    assert.deepEqual(trimSecret(own), rest);
  });

  it('keeps the content of a Secret of the own type that somebody else made', () => {
    const foreign = { ...own, metadata: { name: 'demo', namespace: 'one' } };
    assert.deepEqual(trimSecret(foreign).data, { 'config.json': 'e30=' });
  });

  it('keeps the master key, which has no type of its own', () => {
    const { type: _, ...master } = own;
    assert.deepEqual(trimSecret(master).data, { 'config.json': 'e30=' });
  });

  it('keeps equal rules of policies once and never confuses others', () => {
    const trim = createTrimPolicy();
    const [first, second, other] = [policy(7000), policy(7000), policy(7001)].map(trim);
    assert.equal(first?.spec.egress, second?.spec.egress);
    assert.equal(first?.spec.ingress, second?.spec.ingress);
    assert.deepEqual(other, policy(7001));
    assert.deepEqual(first, policy(7000));
  });
});

function policy(port: number): NetworkPolicy {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'demo', namespace: 'one' },
    spec: {
      podSelector: {},
      ingress: [{ ports: [{ protocol: 'TCP', port }] }],
      egress: [{ ports: [{ protocol: 'TCP', port }] }],
    },
  };
}
