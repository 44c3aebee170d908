import assert from 'node:assert/strict';
import type { KubeObject, Resource } from '#api/meta.ts';
import { silentLog } from '#kit/log.ts';
import { type Random, systemRandom } from '#kit/random.ts';
import type { CacheEvent } from '#kube/cache.ts';
import { createClient } from '#kube/client.ts';
import { endpointFromAddress } from '#kube/endpoint.ts';
import { createInformer } from '#kube/informer.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { FakeApi } from './fake-api.ts';

export interface Thing extends KubeObject {
  spec?: { size?: number };
  status?: { seen?: number };
}

export const things: Resource = {
  group: 'test.dev',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
};

/** Jitter in the middle of its range, so that request counts repeat. */
const steadyRandom: Random = { ...systemRandom, fraction: () => 0.5 };

export interface Follower {
  readonly api: FakeApi;
  readonly clock: ReturnType<typeof createFakeClock>;
  readonly informer: ReturnType<typeof createInformer<Thing>>;
  /** Every event that a handler saw. */
  readonly events: CacheEvent<Thing>[];
  put(name: string, size: number): void;
  remove(name: string): void;
  /** Lets fake time pass, with real time between for the sockets. */
  pass(ms: number): Promise<void>;
  /** Passes fake time until the cache equals the server's truth. Throws after `withinMs`, default 30,000. */
  converge(withinMs?: number): Promise<void>;
  /** List and watch requests since the last call of this. */
  countSince(): { lists: number; watches: number };
  stop(): Promise<void>;
}

/** An informer over a fake API on a fake clock, with three objects in pages of two, synced and watching. */
export async function startFollower(
  options: { readonly faultsFirst?: (api: FakeApi) => void } = {},
): Promise<Follower> {
  const clock = createFakeClock();
  const api = new FakeApi({ now: () => clock.monotonic() });
  await api.listen();
  const client = createClient({ endpoint: endpointFromAddress(api.address), clock });
  const informer = createInformer<Thing>({
    client,
    resource: things,
    clock,
    random: steadyRandom,
    log: silentLog,
    pageSize: 2,
    idleLimitMs: 10_000,
    freeze: true,
  });
  const events: CacheEvent<Thing>[] = [];
  informer.cache.subscribe((event) => events.push(event));
  let counted = 0;

  const follower: Follower = {
    api,
    clock,
    informer,
    events,
    put: (name, size) => putThing(api, name, size),
    remove: (name) => void api.store('things').remove('default', name),
    async pass(ms) {
      for (let left = ms; left > 0; left -= 100) {
        await breathe();
        await clock.advance(Math.min(100, left));
      }
      await breathe();
    },
    async converge(withinMs = 30_000) {
      for (let spent = 0; !isCurrent(follower); spent += 100) {
        if (spent > withinMs) assert.deepEqual(contents(informer.cache.list()), truth(api));
        await follower.pass(100);
      }
      assertOnlyTrueChanges(events);
    },
    countSince() {
      const recent = api.requests.slice(counted);
      counted = api.requests.length;
      const count = (verb: string) => recent.filter((request) => request.verb === verb).length;
      return { lists: count('list'), watches: count('watch') };
    },
    async stop() {
      await informer.stop();
      await client.close();
      await api.stop();
      assert.equal(clock.pending, 0, 'a timer outlived the informer');
    },
  };
  for (const name of ['a', 'b', 'c']) follower.put(name, 1);
  options.faultsFirst?.(api);
  informer.start();
  if (options.faultsFirst === undefined) {
    await follower.converge();
    follower.countSince();
  }
  return follower;
}

function putThing(api: FakeApi, name: string, size: number): void {
  const store = api.store('things');
  const exists = store.list('default').some((object) => object.metadata.name === name);
  if (exists) store.change('default', name, (object) => ({ ...object, spec: { size } }));
  else
    store.create({
      apiVersion: 'test.dev/v1',
      kind: 'Thing',
      metadata: { namespace: 'default', name },
      spec: { size },
    });
}

function isCurrent(follower: Follower): boolean {
  const { cache } = follower.informer;
  return (
    cache.synced &&
    follower.api.openWatches > 0 &&
    contents(cache.list()).join() === truth(follower.api).join()
  );
}

function contents(objects: readonly KubeObject[]): string[] {
  return objects.map((object) => `${object.metadata.name}@${object.metadata.resourceVersion}`).sort();
}

function truth(api: FakeApi): string[] {
  return contents(api.store('things').list(undefined));
}

/** What handlers saw is a history that can have happened: nothing added twice, nothing updated to what it was. */
function assertOnlyTrueChanges(events: readonly CacheEvent<Thing>[]): void {
  const known = new Map<string, string | undefined>();
  for (const event of events) {
    const { name, resourceVersion } = event.object.metadata;
    const what = `${event.type} ${name}@${resourceVersion}`;
    assert.equal(known.has(name), event.type !== 'added', what);
    if (event.type === 'updated') assert.notEqual(known.get(name), resourceVersion, what);
    if (event.type === 'deleted') known.delete(name);
    else known.set(name, resourceVersion);
  }
}

/** Real time for loopback traffic to arrive. */
function breathe(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 3));
}
