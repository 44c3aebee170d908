import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Lease } from '#api/core-kinds.ts';
import type { KubeObject } from '#api/meta.ts';
import { eventResource, leaseResource } from '#api/resources.ts';
import type { Fault, FaultRequest } from '#apiserver/faults.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { type Client, createClient } from '#kube/client.ts';
import { createController } from '#kube/controller.ts';
import { urlEndpoint } from '#kube/endpoint.ts';
import { ApiError, isConflict, isNotFound, isUnavailable } from '#kube/errors.ts';
import { createEventRecorder } from '#kube/events.ts';
import { createInformer } from '#kube/informer.ts';
import { kubeconfigEndpoint } from '#kube/kubeconfig.ts';
import { startLeaderElection } from '#kube/leader-election.ts';
import { settled } from '#kube/result.ts';
import { informerSource } from '#kube/sources.ts';
import { until } from '#test/fixtures/fake-clock.ts';
import { type Embedded, startEmbedded, type Widget, widget, widgets } from './embedded.ts';

const common = { clock: systemClock, random: systemRandom, log: silentLog };
const key = (name: string) => ({ namespace: 'default', name });

describe('the client against the embedded API', { timeout: 60_000 }, () => {
  let embedded: Embedded;
  let client: Client;
  before(async () => {
    embedded = await startEmbedded();
    client = embedded.client;
  });
  after(() => embedded.stop());

  test('keeps fields of several managers apart and reports a conflict between them', async () => {
    await client.apply<Widget>(widgets, widget('shared', { size: 1 }), { fieldManager: 'one' });
    const both = await client.apply<Widget>(widgets, widget('shared', { color: 'red' }), {
      fieldManager: 'two',
    });
    assert.deepEqual(both.spec, { size: 1, color: 'red' });
    const clash = widget('shared', { size: 2 });
    await assert.rejects(client.apply<Widget>(widgets, clash, { fieldManager: 'two' }), isConflict);
    const forced = await client.apply<Widget>(widgets, clash, { fieldManager: 'two', force: true });
    assert.equal(forced.spec?.size, 2);
  });

  test('writes a status with its version: a stale one is refused even though it is forced', async () => {
    const created = await client.create(widgets, widget('status', { size: 1 }));
    const options = { fieldManager: 'controller' };
    const written = await client.applyStatus<Widget>(widgets, created, { seen: 1 }, options);
    assert.equal(written.status?.seen, 1);
    assert.equal(written.metadata.generation, created.metadata.generation);
    assert.equal(await client.applyStatus<Widget>(widgets, written, { seen: 1 }, options), written);
    await assert.rejects(client.applyStatus<Widget>(widgets, created, { seen: 2 }, options), isConflict);
  });

  test('patches by merge and by JSON patch, and scales', async () => {
    await client.create(widgets, widget('patched', { size: 1, color: 'red' }));
    await client.patch(widgets, key('patched'), { type: 'merge', body: { spec: { color: null } } });
    await client.patch(widgets, key('patched'), {
      type: 'json',
      body: [{ op: 'replace', path: '/spec/size', value: 5 }],
    });
    await client.scale(widgets, key('patched'), 3);
    assert.deepEqual((await client.get<Widget>(widgets, key('patched'))).spec, { size: 5, replicas: 3 });
  });

  test('names the field of an invalid object, refuses unknown fields when strict, stores nothing on a dry run', async () => {
    await assert.rejects(client.create(widgets, widget('bad', { size: 5000 })), (error) => {
      assert(error instanceof ApiError);
      assert.equal(error.reason, 'Invalid');
      assert.equal(error.details?.causes?.[0]?.field, 'spec.size');
      return true;
    });
    const unknown = { ...widget('bad'), spec: { colour: 'red' } } as Widget;
    await assert.rejects(client.create(widgets, unknown, { fieldValidation: 'Strict' }), { status: 400 });
    await client.create(widgets, widget('dry'), { dryRun: true });
    await assert.rejects(client.get(widgets, key('dry')), isNotFound);
  });

  test('deletes only what the preconditions name', async () => {
    const created = await client.create(widgets, widget('doomed'));
    const wrong = { preconditions: { uid: '00000000-0000-4000-8000-000000000000' } };
    await assert.rejects(client.delete(widgets, key('doomed'), wrong), isConflict);
    await client.delete(widgets, key('doomed'), { preconditions: { uid: created.metadata.uid ?? '' } });
    await assert.rejects(client.delete(widgets, key('doomed')), isNotFound);
  });

  test('elects one leader of two by a real Lease', async () => {
    const started: string[] = [];
    const electors = ['a', 'b'].map((identity) =>
      startLeaderElection({
        client,
        lease: key('controller'),
        identity,
        ...common,
        leaseDurationMs: 3_000,
        renewDeadlineMs: 2_000,
        retryPeriodMs: 100,
        onStarted: () => started.push(identity),
        onLost: () => started.push(`${identity} lost`),
      }),
    );
    await until(() => started.length === 1, 'a leader');
    await electors[started[0] === 'a' ? 0 : 1]?.stop();
    await until(() => started.length === 2, 'the other leader');
    assert.deepEqual(started.toSorted(), ['a', 'b']);
    const lease = await client.get<Lease>(leaseResource, key('controller'));
    assert.equal(lease.spec?.holderIdentity, started[1]);
    await Promise.all(electors.map((elector) => elector.stop()));
  });

  test('writes Events that the API takes', async () => {
    const about = await client.create(widgets, widget('eventful'));
    const recorder = createEventRecorder({ client, component: 'test', instance: 'host', ...common });
    for (let i = 0; i < 3; i++) recorder.event(about, 'Warning', 'Failed', 'It failed.');
    await recorder.stop();
    const { items } = await client.list<KubeObject & { count?: number; involvedObject?: { uid?: string } }>(
      eventResource,
      { namespace: 'default', fieldSelector: 'involvedObject.name=eventful' },
    );
    assert.deepEqual(
      items.map((item) => [item.count, item.involvedObject?.uid]),
      [[3, about.metadata.uid]],
    );
  });
});

describe('a kubeconfig of the embedded API', { timeout: 60_000 }, () => {
  test('opens it over TLS with its token, and not without', async () => {
    const embedded = await startEmbedded({ tls: true });
    const endpoint = await kubeconfigEndpoint({ file: embedded.kubeconfig, clock: systemClock });
    const client = createClient({ endpoint, clock: systemClock });
    const foreign = createClient({ endpoint: urlEndpoint(embedded.server().url ?? ''), clock: systemClock });
    try {
      assert.equal(endpoint.namespace, 'default');
      await client.create(widgets, widget('by-tls'));
      assert.equal((await client.list(widgets, { namespace: 'default' })).items.length, 1);
      assert.match(await client.getText('/version'), /gitVersion/);
      await assert.rejects(foreign.list(widgets), isUnavailable);
    } finally {
      await Promise.all([client.close(), foreign.close()]);
      await embedded.stop();
    }
  });

  test('is refused with a clear error when it is missing or names no such context', async () => {
    await assert.rejects(kubeconfigEndpoint({ file: '/nonexistent', clock: systemClock }), {
      code: 'BadEndpoint',
    });
  });
});

describe('an informer of the embedded API', { timeout: 120_000 }, () => {
  test('converges within five seconds after cuts, restarts, compactions, silence and bursts of errors during churn', async () => {
    let burst: Fault | undefined;
    const requests: FaultRequest[] = [];
    const embedded = await startEmbedded({
      limits: { historyChanges: 100 },
      faults: (request) => {
        if (!request.path.includes('/widgets')) return undefined;
        requests.push(request);
        return request.method === 'GET' ? burst : undefined;
      },
    });
    const watches = () => requests.filter(({ watch }) => watch).length;
    const lists = () =>
      requests.filter(({ method, watch, query }) => method === 'GET' && !watch && !query.has('continue'))
        .length;
    const { client } = embedded;
    const informer = createInformer<Widget>({
      client,
      resource: widgets,
      ...common,
      idleLimitMs: 1_000,
      backoff: { initial: 25, max: 100, jitter: 0.25 },
      pageSize: 100,
    });
    informer.start();
    await informer.synced;
    const names = Array.from({ length: 500 }, (_, i) => `w${i}`);
    let stamp = 0;
    const change = async (from: number, count = 50) => {
      for (const [i, name] of names.slice(from, from + count).entries()) {
        const apply = () =>
          client.apply<Widget>(widgets, widget(name, { size: stamp++ % 1000 }), { fieldManager: 'churn' });
        await eventually(apply);
        if (i % 7 === 3) await eventually(() => client.delete(widgets, key(name)).catch(ignoreNotFound));
      }
    };
    try {
      for (let round = 0; round < 10; round++) {
        const churning = change(round * 50);
        for (let cut = 0; cut < 10; cut++) {
          const before = watches();
          embedded.server().cutConnections();
          await until(() => watches() > before, 'the next watch');
          await systemClock.sleep(20);
        }
        burst = [
          { kind: 'status', status: 500 },
          { kind: 'status', status: 429, retryAfterSeconds: 1 },
          { kind: 'drop' },
          { kind: 'silence' },
          { kind: 'status', status: 503 },
        ][round % 5] as Fault;
        embedded.server().cutConnections();
        await systemClock.sleep(300);
        burst = undefined;
        await churning;
        if (round % 2 === 1) await embedded.restart();
      }
      for (let compaction = 0; compaction < 2; compaction++) {
        // More changes than the server remembers while every watch is refused: then 410.
        burst = { kind: 'status', status: 503 };
        embedded.server().cutConnections();
        await change(0, 250);
        const before = lists();
        burst = undefined;
        await until(() => lists() > before, 'the list after a 410');
      }
      const { items } = await client.list<Widget>(widgets);
      const truth = JSON.stringify(versions(items));
      await until(
        () => JSON.stringify(versions(informer.cache.list())) === truth,
        'the cache to hold the truth',
      );
      // Two compactions need a list each. A list that a cut or burst spoils is made again: never more than one a fault.
      const faults = 100 + 10 + 5 + 2;
      assert.ok(lists() >= 3 && lists() <= 1 + faults, `${lists()} lists`);
      assert.ok(watches() >= 100 && watches() <= 250, `${watches()} watches`);
    } finally {
      await informer.stop();
      await embedded.stop();
    }
  });

  test('feeds a controller that writes each status once and then nothing more', async () => {
    const writes: string[] = [];
    const embedded = await startEmbedded({
      faults: ({ method, path }) => {
        if (method !== 'GET' && path.endsWith('/status')) writes.push(path);
        return undefined;
      },
    });
    const { client } = embedded;
    const informer = createInformer<Widget>({ client, resource: widgets, ...common, freeze: true });
    const controller = createController({
      name: 'widget',
      ...common,
      concurrency: 4,
      sources: [informerSource(informer)],
      reconcile: async ({ namespace, name }) => {
        const current = informer.cache.get({ namespace, name });
        if (current === undefined) return settled;
        const status = { seen: current.spec?.size ?? 0, conditions: [{ type: 'Ready', status: 'True' }] };
        informer.observe(
          await client.applyStatus<Widget>(widgets, current, status, { fieldManager: 'test' }),
        );
        return settled;
      },
    });
    try {
      await controller.start();
      await Promise.all(
        Array.from({ length: 100 }, (_, i) => client.create(widgets, widget(`w${i}`, { size: i }))),
      );
      const done = () =>
        informer.cache.list().filter(({ spec, status }) => status?.seen === spec?.size).length === 100;
      await until(done, 'every status');
      await systemClock.sleep(200);
      assert.equal(writes.length, 100);
    } finally {
      await controller.stop();
      await informer.stop();
      await embedded.stop();
    }
  });
});

function versions(objects: readonly KubeObject[]): string[] {
  return objects.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort();
}

/** What a reconciler does by its queue: the same write again until the API takes it. */
async function eventually(write: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      await write();
      return;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      await systemClock.sleep(20);
    }
  }
  throw new Error('the API never took the write');
}

function ignoreNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error;
}
