import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Agent } from '#api/agent.ts';
import { customResourceDefinitions } from '#api/crd.ts';
import type { Secret } from '#api/meta.ts';
import { agentResource, routeResource, secretResource } from '#api/resources.ts';
import type { Route } from '#api/route.ts';
import { startApiServer } from '#apiserver/start.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { type Client, createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { type Following, followApi } from '#router/follow-api.ts';
import { agentNamed, routeNamed } from '#routing/testing.ts';
import { masterKey, secretOf } from '#wire/testing.ts';

/** Table and keys by watches of a real API server. */
const limits = { timeout: 60_000 };
const common = { clock: systemClock, random: systemRandom, log: silentLog };

async function start(t: TestContext): Promise<{ client: Client; following: Following }> {
  const folder = mkdtempSync(join(tmpdir(), 'follow-'));
  const socketPath = join(folder, 'api.sock');
  const definitions = customResourceDefinitions();
  const server = await startApiServer({
    ...common,
    definitions,
    dataFolder: join(folder, 'data'),
    socket: socketPath,
  });
  const client = createClient({ endpoint: unixEndpoint(socketPath), clock: systemClock });
  const following = followApi({ ...common, client, homeNamespace: 'default' });
  t.after(async () => {
    await following.stop();
    await client.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { client, following };
}

/** Waits by the source's own news for something to hold. */
function until(following: Following, holds: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => {
    if (holds()) resolve();
  };
  const timer = setInterval(look, 10);
  const stop = following.tables.subscribe(look);
  look();
  return promise.finally(() => {
    clearInterval(timer);
    stop();
  });
}

const bare = (agent: Agent): Agent => {
  const { uid: _uid, creationTimestamp: _created, ...metadata } = agent.metadata;
  return { ...agent, metadata };
};

test('agents, their endpoints, routes and the master key are followed as they change', limits, async (t) => {
  const { client, following } = await start(t);
  await until(following, () => following.tables.synced);
  assert.equal(following.keys.current().length, 0);
  assert.equal(following.tables.current().targets.size, 0);

  await client.create<Secret>(secretResource, secretOf({ current: masterKey(1).secret }));
  await until(following, () => following.keys.current()[0]?.kid === masterKey(1).kid);

  const created = await client.create<Agent>(agentResource, bare(agentNamed('demo')));
  await until(following, () => following.tables.current().targets.has('default/demo'));
  assert.equal(following.tables.current().targets.get('default/demo')?.unavailable?.passing, true);

  const endpoints = [{ name: 'demo', uid: 'w1', address: 'unix:/x', ready: true, terminating: false }];
  await client.applyStatus<Agent>(
    agentResource,
    created,
    { endpoints, toolsDigest: 'd' },
    { fieldManager: 't' },
  );
  await until(following, () => following.tables.current().targets.get('default/demo')?.ready.length === 1);
  assert.equal(following.tables.current().targets.get('default/demo')?.listsDigest, 'd');

  const digest = following.tables.current().digest;
  const {
    uid: _uid,
    creationTimestamp: _created,
    ...metadata
  } = routeNamed('r', { selector: {}, mcp: {} }).metadata;
  await client.create<Route>(routeResource, {
    ...routeNamed('r', { selector: {}, paths: ['/team'], mcp: {} }),
    metadata,
  });
  await until(following, () => following.tables.current().digest !== digest);
  assert.ok(following.tables.current().surfaces.some((surface) => surface.place.path === '/team/mcp'));

  await client.delete(agentResource, { namespace: 'default', name: 'demo' });
  await until(following, () => !following.tables.current().targets.has('default/demo'));
});

test('a master key that is rotated is followed; one that is damaged changes nothing', limits, async (t) => {
  const { client, following } = await start(t);
  const secret = await client.create<Secret>(secretResource, secretOf({ current: masterKey(1).secret }));
  await until(following, () => following.keys.current().length === 1);
  const rotated = secretOf({ current: masterKey(2).secret, previous: masterKey(1).secret });
  const kept = await client.update<Secret>(secretResource, {
    ...secret,
    ...(rotated.data && { data: rotated.data }),
  });
  await until(following, () => following.keys.current().length === 2);
  assert.equal(following.keys.current()[0]?.kid, masterKey(2).kid);
  await client.update<Secret>(secretResource, { ...kept, data: { current: 'c2hvcnQ=' } });
  await client.create<Agent>(agentResource, bare(agentNamed('later')));
  await until(following, () => following.tables.current().targets.has('default/later'));
  assert.equal(following.keys.current()[0]?.kid, masterKey(2).kid);
});
