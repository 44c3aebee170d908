import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '#api/agent.ts';
import type { ConfigMap, KubeObject, Secret } from '#api/meta.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { createCache } from '#kube/cache.ts';
import type { Client } from '#kube/client.ts';
import type { Informer } from '#kube/informer.ts';
import { agentNamed } from '#routing/testing.ts';
import { createFakeClock, settle } from '#test/fixtures/fake-clock.ts';
import { createAuthController } from './controller.ts';

let version = 10;
function nextVersion(): string {
  version += 1;
  return String(version);
}

function informerOf<T extends KubeObject>(...objects: T[]): Informer<T> {
  const cache = createCache<T>({});
  for (const object of objects) cache.upsert(object);
  const rest = { start: () => undefined, synced: Promise.resolve(), stop: async () => undefined };
  return { cache, observe: (object: T) => cache.upsert(object), ...rest } as unknown as Informer<T>;
}

function users(text: string): Secret {
  const metadata = { name: 'demo-users', namespace: 'default', resourceVersion: nextVersion() };
  const data = { users: Buffer.from(text).toString('base64') };
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'ploinky.dev/users', data };
}

test('it writes when something changed, and nothing otherwise', async () => {
  const agent = agentNamed('demo');
  const asking = {
    ...agent,
    spec: { ...agent.spec, auth: { mode: 'pwd' } },
    metadata: { ...agent.metadata, resourceVersion: '1' },
  };
  const secrets = informerOf<Secret>(users('{"version":1,"users":[]}'));
  const writes: string[] = [];
  const client = {
    async apply(_: unknown, object: Secret) {
      writes.push(`apply ${object.metadata.name}`);
      return { ...object, metadata: { ...object.metadata, resourceVersion: nextVersion() } };
    },
    async create(_: unknown, object: ConfigMap) {
      writes.push(`create ${object.metadata.name}`);
      return object;
    },
  } as unknown as Client;
  const controller = createAuthController({
    ...{ client, secrets, homeNamespace: 'default', log: silentLog, random: systemRandom },
    agents: informerOf<Agent>(asking as Agent),
    routes: informerOf(),
    configMaps: informerOf(),
    clock: createFakeClock(),
  });
  await controller.start();
  await settle();
  assert.deepEqual(writes.splice(0), ['create ploinky-logouts', 'apply ploinky-auth']);
  for (let round = 0; round < 3; round += 1) {
    controller.enqueue({ namespace: 'default', name: 'ploinky-auth' });
    await settle();
  }
  assert.deepEqual(writes, []);
  secrets.observe(users('{"version":1,"users":[],"keys":[]}'));
  await settle();
  assert.deepEqual(writes, ['apply ploinky-auth']);
  await controller.stop();
});
