import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentSpecSchema } from '#api/agent.ts';
import { suspendedBy } from './restart.ts';

const agentWith = (runtime: object) => ({
  apiVersion: 'ploinky.dev/v1alpha1' as const,
  kind: 'Agent' as const,
  metadata: { name: 'a' },
  spec: agentSpecSchema.parse({ runtime }),
});

test('an agent that is suspended is told to stay so after a restart, with the field', () => {
  assert.match(suspendedBy(agentWith({ suspend: true })) ?? '', /^spec\.runtime\.suspend is true/);
  assert.match(suspendedBy(agentWith({ replicas: 0 })) ?? '', /^spec\.runtime\.replicas is 0/);
  assert.equal(suspendedBy(agentWith({})), undefined);
});
