import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { KubeObject, Resource } from '#api/meta.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { type Client, createClient } from '#kube/client.ts';
import { createController } from '#kube/controller.ts';
import { endpointFromAddress } from '#kube/endpoint.ts';
import { createInformer } from '#kube/informer.ts';
import { settled } from '#kube/result.ts';
import { informerSource } from '#kube/sources.ts';
import { until } from '#test/fixtures/fake-clock.ts';
import { FakeApi } from './fake-api.ts';

interface Thing extends KubeObject {
  spec?: { size?: number };
  status?: { seen?: number };
}

const things: Resource = {
  group: 'test.dev',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
};

describe('a controller over an informer', { timeout: 20_000 }, () => {
  const api = new FakeApi();
  let client: Client;
  before(async () => {
    await api.listen();
    client = createClient({ endpoint: endpointFromAddress(api.address), clock: systemClock });
  });
  after(async () => {
    await client.close();
    await api.stop();
  });

  test('brings every status up to its spec with one write an object, and then writes nothing', async () => {
    const common = { clock: systemClock, random: systemRandom, log: silentLog };
    const informer = createInformer<Thing>({ client, resource: things, ...common, freeze: true });
    const controller = createController({
      name: 'thing',
      ...common,
      concurrency: 4,
      sources: [informerSource(informer)],
      reconcile: async (key) => {
        const current = informer.cache.get(key);
        if (current === undefined) return settled;
        const status = { seen: current.spec?.size ?? 0 };
        informer.observe(
          structuredClone(await client.applyStatus<Thing>(things, current, status, { fieldManager: 'test' })),
        );
        return settled;
      },
    });
    const store = api.store('things');
    for (let i = 0; i < 20; i++) {
      store.create({
        apiVersion: 'test.dev/v1',
        kind: 'Thing',
        metadata: { namespace: 'default', name: `t${i}` },
        spec: { size: i },
      });
    }
    await controller.start();
    const current = () =>
      store
        .list('default')
        .every((object) => (object.status as Thing['status'])?.seen === (object as Thing).spec?.size);
    await until(current, 'every status to be current');
    assert.equal(api.count('patch'), 20);
    store.change('default', 't3', (object) => ({ ...object, spec: { size: 99 } }));
    await until(current, 'the changed status to be current');
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(api.count('patch'), 21);
    await controller.stop();
    await informer.stop();
    assert.equal(api.openWatches <= 1, true);
  });
});
