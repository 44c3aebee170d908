import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secret } from '#api/meta.ts';
import { systemClock } from '#kit/clock.ts';
import type { ObjectKey } from '#kube/key.ts';
import { createGather } from './gather-facts.ts';
import { emptyHistory } from './history.ts';
import type { AgentControllerOptions } from './options.ts';
import { makeAgent } from './testing.ts';

const token: Secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'token', namespace: 'default', resourceVersion: '5' },
  data: { value: Buffer.from('s3cret').toString('base64') },
};

/** A controller that has just started: the Secret comes while it waits for the namespace to be read. */
function createStage() {
  const read = new Map<string, Secret>();
  const settled = async () => {
    read.set('default/token', token);
    return 'synced' as const;
  };
  const cacheOf = (get: (key: ObjectKey) => unknown) => ({ cache: { get } });
  const options = {
    agents: cacheOf(() => undefined),
    secrets: cacheOf(({ namespace, name }) => read.get(`${namespace}/${name}`)),
    configMaps: cacheOf(() => undefined),
    drivers: [],
    access: {
      secrets: { settled, forbidden: () => undefined, onAccess: () => () => undefined },
      configMaps: { settled: async () => 'synced' as const },
    },
    homeNamespace: 'home',
    clock: systemClock,
  } as unknown as AgentControllerOptions;
  return createGather(options, () => []);
}

test('references are followed when their namespace was read, not before', async () => {
  const optional = { secretKeyRef: { name: 'token', key: 'value', optional: true } };
  const agent = makeAgent({ env: [{ name: 'TOKEN', valueFrom: optional }] });
  const gather = createStage();
  const memory = { history: emptyHistory, observed: undefined, driver: undefined };
  const first = await gather(agent, memory);
  assert.deepEqual(first.environment.values, { TOKEN: 's3cret' });
  const second = await gather(agent, memory);
  assert.equal(first.environment.revision, second.environment.revision, 'a restart is no change of the spec');
});
