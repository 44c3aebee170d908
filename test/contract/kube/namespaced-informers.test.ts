import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { type Client, createClient } from '#kube/client.ts';
import { endpointFromAddress } from '#kube/endpoint.ts';
import { createInformer } from '#kube/informer.ts';
import {
  createNamespacedInformers,
  followNamespacesOf,
  type NamespacedInformers,
} from '#kube/namespaced-informers.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { FakeApi } from './fake-api.ts';
import { type Thing, things } from './follower.ts';

const bounded = { timeout: 30_000 };

interface Stage {
  readonly api: FakeApi;
  readonly client: Client;
  readonly set: NamespacedInformers<Thing>;
  readonly clock: ReturnType<typeof createFakeClock>;
  put(namespace: string, name: string, collection?: string): void;
  pass(ms: number): Promise<void>;
  /** Passes time until `holds`, at most so many fake milliseconds. */
  until(holds: () => boolean, withinMs?: number): Promise<void>;
  names(): string[];
}

async function onStage(run: (stage: Stage) => Promise<void>): Promise<void> {
  const clock = createFakeClock();
  const api = new FakeApi({ now: () => clock.monotonic() });
  await api.listen();
  const client = createClient({ endpoint: endpointFromAddress(api.address), clock });
  const common = { client, clock, random: { ...systemRandom, fraction: () => 0.5 }, log: silentLog };
  const set = createNamespacedInformers<Thing>({ ...common, resource: things, pinned: ['home'] });
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 100) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      await clock.advance(Math.min(100, left));
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  };
  const stage: Stage = {
    api,
    client,
    set,
    clock,
    pass,
    put: (namespace, name, collection = 'things') =>
      void api.store(collection).create({
        apiVersion: 'test.dev/v1',
        kind: 'Thing',
        metadata: { namespace, name },
      }),
    async until(holds, withinMs = 10_000) {
      for (let spent = 0; !holds(); spent += 100) {
        assert.ok(spent < withinMs, 'it does not come about');
        await pass(100);
      }
    },
    names: () =>
      set.cache
        .list()
        .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
        .sort(),
  };
  try {
    await run(stage);
  } finally {
    await set.stop();
    await client.close();
    await api.stop();
  }
}

/** The API refuses to read a namespace until `clearFaults`. */
function forbid(api: FakeApi, namespace: string): void {
  const reads = (path: string) => path.includes(`/namespaces/${namespace}/`);
  api.failWhen(({ path }) => reads(path), { kind: 'status', status: 403 }, Number.POSITIVE_INFINITY);
}

describe('informers of some namespaces', () => {
  test('read only the namespaces that are followed, and never all of them', bounded, () =>
    onStage(async ({ api, set, put, until, pass, names }) => {
      for (const namespace of ['home', 'one', 'two']) put(namespace, 'a');
      set.start();
      await until(() => set.cache.synced);
      assert.deepEqual(names(), ['home/a']);
      set.follow('one');
      await until(() => set.state('one') === 'synced');
      assert.deepEqual(names(), ['home/a', 'one/a']);
      assert.equal(set.state('two'), 'unfollowed');
      put('one', 'b');
      put('two', 'b');
      await pass(500);
      assert.deepEqual(names(), ['home/a', 'one/a', 'one/b']);
      assert.equal(set.cache.get({ namespace: 'one', name: 'b' })?.metadata.name, 'b');
      assert.deepEqual(set.cache.list('two'), []);
      const wide = api.requests.filter(({ path }) => !path.includes('/namespaces/'));
      assert.deepEqual(wide, []);
    }),
  );

  test('tell a subscriber of each namespace as it comes, and nothing when one goes', bounded, () =>
    onStage(async ({ set, put, until, pass, names }) => {
      for (const namespace of ['home', 'one']) put(namespace, 'a');
      const seen: string[] = [];
      set.cache.subscribe(({ type, object }) => seen.push(`${type} ${object.metadata.namespace}`));
      set.start();
      set.follow('one');
      await until(() => seen.length === 2);
      assert.deepEqual(seen.sort(), ['added home', 'added one']);
      set.unfollow('one');
      set.unfollow('home');
      put('one', 'b');
      await pass(500);
      assert.deepEqual(names(), ['home/a'], 'a pinned namespace stays');
      assert.equal(seen.length, 2);
      set.follow('one');
      await until(() => seen.length === 4);
    }),
  );

  test('know a namespace that may not be read, and read it soon after the access was granted', bounded, () =>
    onStage(async ({ api, set, put, until, pass }) => {
      put('closed', 'a');
      forbid(api, 'closed');
      const changes: string[] = [];
      set.onAccess((namespace) => changes.push(`${namespace} ${set.state(namespace)}`));
      set.start();
      set.follow('closed');
      await until(() => set.state('closed') === 'forbidden');
      assert.equal(set.forbidden('closed'), 'scripted 403');
      assert.equal(set.forbidden('home'), undefined);
      assert.equal(await set.settled('closed'), 'forbidden');
      const before = api.count('list');
      await pass(120_000);
      const asked = api.count('list') - before;
      assert.ok(asked >= 2 && asked <= 10, `asked ${asked} times in two minutes`);
      api.clearFaults();
      await until(() => set.state('closed') === 'synced', 40_000);
      assert.equal(set.forbidden('closed'), undefined);
      assert.deepEqual(changes, ['closed forbidden', 'closed synced']);
    }),
  );

  test('notice an access that was taken away, and take an outage for none', bounded, () =>
    onStage(async ({ api, set, put, until, pass }) => {
      put('one', 'a');
      set.start();
      set.follow('one');
      await until(() => set.state('one') === 'synced');
      api.failWhen(() => true, { kind: 'status', status: 503 }, 3);
      api.closeWatches();
      await pass(10_000);
      assert.equal(set.state('one'), 'synced');
      forbid(api, 'one');
      api.closeWatches();
      await until(() => set.state('one') === 'forbidden');
      assert.equal(set.cache.get({ namespace: 'one', name: 'a' })?.metadata.name, 'a', 'what was read stays');
      api.clearFaults();
      await until(() => set.state('one') === 'synced', 40_000);
    }),
  );

  test('a namespace that the API keeps silent about does not hold its reader for ever', bounded, () =>
    onStage(async ({ api, set, until, pass }) => {
      api.failWhen(({ path }) => path.includes('/slow/'), { kind: 'silence' }, 1);
      set.start();
      set.follow('slow');
      let state = '';
      void set.settled('slow').then((now) => {
        state = now;
      });
      await pass(1_000);
      assert.equal(state, '');
      await until(() => state === 'waiting', 10_000);
    }),
  );

  test('follow the namespaces in which another kind has objects', bounded, () =>
    onStage(async ({ api, client, clock, set, put, until }) => {
      const owners = createInformer<Thing>({
        client,
        clock,
        random: systemRandom,
        log: silentLog,
        resource: { ...things, plural: 'owners' },
      });
      const stop = followNamespacesOf(owners.cache, [set]);
      for (const namespace of ['one', 'two']) put(namespace, 'a');
      put('one', 'x', 'owners');
      put('one', 'y', 'owners');
      set.start();
      owners.start();
      await until(() => set.state('one') === 'synced');
      assert.equal(set.state('two'), 'unfollowed');
      api.store('owners').remove('one', 'x');
      put('two', 'x', 'owners');
      await until(() => set.state('two') === 'synced');
      assert.equal(set.state('one'), 'synced', 'one owner is left there');
      api.store('owners').remove('one', 'y');
      await until(() => set.state('one') === 'unfollowed');
      stop();
      await owners.stop();
    }),
  );
});
