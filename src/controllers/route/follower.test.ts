import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '#api/agent.ts';
import type { Lease } from '#api/core-kinds.ts';
import { routerConflictsAnnotation, routerTableAnnotation } from '#api/labels.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { agentResource, leaseResource, routeResource } from '#api/resources.ts';
import type { Route, RouteSpecInput } from '#api/route.ts';
import { createCache } from '#kube/cache.ts';
import { agentNamed, routeNamed } from '#routing/testing.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createFollower } from './follower.ts';
import { catchUpMs } from './routers.ts';
import { isServed, routeStatus } from './status.ts';

let version = 0;
function stamped<T extends KubeObject>(object: T, generation = 1): T {
  version += 1;
  return { ...object, metadata: { ...object.metadata, generation, resourceVersion: String(version) } };
}

function following<T extends KubeObject>(resource: Resource) {
  const cache = createCache<T>();
  const nothing = () => undefined;
  const observe = (object: T) => cache.upsert(object);
  return { resource, cache, start: nothing, synced: Promise.resolve(), observe, stop: async () => undefined };
}

/** Reconciles what is enqueued, as the controller does, and remembers whose turn it was. */
function stage() {
  const clock = createFakeClock();
  const agents = following<Agent>(agentResource);
  const routes = following<Route>(routeResource);
  const leases = following<Lease>(leaseResource);
  const follower = createFollower({
    agents,
    routes,
    leases,
    clock,
    homeNamespace: 'default',
    hostClaims: {},
  });
  const queue = new Set<string>();
  const stop = follower.source.start(
    ({ name }) => queue.add(name),
    () => assert.fail('no Route goes first'),
  );
  const put = (name: string, spec: RouteSpecInput, generation = 1) =>
    routes.cache.upsert(stamped(routeNamed(name, spec), generation));
  async function settle(ms = 10): Promise<string[]> {
    const turns: string[] = [];
    await clock.advance(ms);
    for (const name of queue) {
      queue.delete(name);
      turns.push(name);
      const route = routes.cache.get({ namespace: 'default', name });
      const { table, facts } = follower.look();
      const verdict = table.verdicts.get(`default/${name}`);
      if (route === undefined || verdict === undefined) continue;
      const status = routeStatus(route, verdict, facts, new Date(clock.now()));
      routes.cache.upsert({ ...stamped(route, route.metadata.generation), status });
    }
    return turns.sort();
  }
  const publish = (name: string, digest: string, conflicts = '') =>
    leases.cache.upsert(
      stamped({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease' as const,
        metadata: {
          name,
          namespace: 'default',
          annotations: { [routerTableAnnotation]: digest, [routerConflictsAnnotation]: conflicts },
        },
        spec: { leaseDurationSeconds: 45 },
      }),
    );
  const follow = (name: string) => publish(name, follower.look().table.digest);
  const served = () =>
    routes.cache
      .list()
      .filter(isServed)
      .map(({ metadata }) => metadata.name)
      .sort();
  return { clock, agents, routes, follower, put, settle, publish, follow, served, stop };
}

/** Three Routes that a router serves. */
async function calm() {
  const here = stage();
  here.agents.cache.upsert(stamped(agentNamed('demo', { labels: { tier: 'x' } })));
  here.put('a', { agents: [{ name: 'demo' }], paths: ['/a'], api: {} });
  here.put('b', { agents: [{ name: 'demo' }], paths: ['/b'], api: {} });
  here.put('c', { selector: { matchLabels: { tier: 'x' } }, paths: ['/c'], api: {} });
  await here.settle();
  here.follow('r1');
  await here.settle();
  assert.deepEqual(here.served(), ['a', 'b', 'c']);
  assert.deepEqual(await here.settle(), []);
  return here;
}

test('a Route that changes is looked at alone, also when the router has followed', async () => {
  const here = await calm();
  here.put('a', { agents: [{ name: 'demo' }], paths: ['/new'], api: {} }, 2);
  assert.deepEqual(await here.settle(), ['a']);
  assert.deepEqual(here.served(), ['b', 'c']);
  here.follow('r1');
  assert.deepEqual(await here.settle(), ['a']);
  assert.deepEqual(here.served(), ['a', 'b', 'c']);
});

test('a Route that takes another’s place, or gives it back, has both looked at', async () => {
  const here = await calm();
  const older = routeNamed(
    'z',
    { agents: [{ name: 'demo' }], paths: ['/b'], api: {} },
    { created: '2025-01-01T00:00:00Z' },
  );
  here.routes.cache.upsert(stamped(older));
  assert.deepEqual(await here.settle(), ['b', 'z']);
  here.follow('r1');
  await here.settle();
  assert.deepEqual(here.served(), ['a', 'c', 'z']);
  here.routes.cache.remove(stamped(older));
  assert.deepEqual(await here.settle(), ['b', 'z']);
  here.follow('r1');
  await here.settle();
  assert.deepEqual(here.served(), ['a', 'b', 'c']);
});

test('an Agent that comes or goes has only the Routes looked at that choose it', async () => {
  const here = await calm();
  const other = stamped(agentNamed('other', { labels: { tier: 'x' } }));
  here.agents.cache.upsert(other);
  assert.deepEqual(await here.settle(), ['c']);
  here.follow('r1');
  assert.deepEqual(await here.settle(), []);
  here.agents.cache.remove(stamped(other));
  assert.deepEqual(await here.settle(), ['c']);
  here.agents.cache.upsert(stamped(agentNamed('demo', { labels: {} }), 2));
  assert.deepEqual(await here.settle(), ['c']);
});

test('no Route is served while no router runs, and every one again when one does', async () => {
  const here = await calm();
  await here.settle(45_000);
  assert.deepEqual(here.served(), []);
  here.follow('r2');
  await here.settle();
  assert.deepEqual(here.served(), ['a', 'b', 'c']);
});

test('a router that does not follow in its time has every Route looked at, and again when it does', async () => {
  const here = await calm();
  here.publish('r1', 'something else');
  assert.deepEqual(await here.settle(catchUpMs - 100), []);
  assert.deepEqual(here.served(), ['a', 'b', 'c']);
  assert.deepEqual(await here.settle(200), ['a', 'b', 'c']);
  assert.deepEqual(here.served(), []);
  here.follow('r1');
  assert.deepEqual(await here.settle(), ['a', 'b', 'c']);
  assert.deepEqual(here.served(), ['a', 'b', 'c']);
});

test('nothing waits after the end', async () => {
  const here = await calm();
  here.publish('r1', 'something else');
  await here.settle();
  here.stop();
  here.follower.look();
  assert.equal(here.clock.pending, 0);
});

test('names that routers see at several agents are in the Route’s status, and go with them', async () => {
  const here = await calm();
  const { digest } = here.follower.look().table;
  const conflicts = () => here.routes.cache.get({ namespace: 'default', name: 'a' })?.status?.conflicts;
  here.publish('r1', digest, '{"default/a":[["tools","echo",["x","y"]]]}');
  assert.deepEqual(await here.settle(), ['a']);
  assert.deepEqual(conflicts(), [{ kind: 'tools', name: 'echo', agents: ['x', 'y'] }]);
  here.publish('r2', digest, '{"default/a":[["tools","echo",["z"]]]}');
  assert.deepEqual(await here.settle(), ['a']);
  assert.deepEqual(conflicts()?.[0]?.agents, ['x', 'y', 'z']);
  here.publish('r1', digest);
  here.publish('r2', digest);
  assert.deepEqual(await here.settle(), ['a']);
  assert.equal(conflicts(), undefined);
});
