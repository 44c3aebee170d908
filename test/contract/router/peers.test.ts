import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Lease } from '#api/core-kinds.ts';
import { leaseResource } from '#api/resources.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import { followPeers } from '#router/peers/lease-source.ts';
import { publishTable } from '#router/publish-table.ts';
import { type RunningRouter, startRouter } from '#router/start.ts';
import { editableTables, master } from '#router/testing/harness.ts';
import { until } from '#test/fixtures/fake-clock.ts';
import { startEmbedded } from '../kube/embedded.ts';

const common = { clock: systemClock, random: systemRandom, log: silentLog };
const masters = [master];
const loopback = { host: '127.0.0.1', port: 0 };

interface Replica extends RunningRouter {
  readonly name: string;
  readonly leave: () => Promise<void>;
}

/** One router as a cluster runs it: it follows the Leases of the others and publishes its own. */
async function startReplica(t: TestContext, client: Client, name: string): Promise<Replica> {
  const source = followPeers({ ...common, client, namespace: 'default', ownName: name });
  const tables = editableTables();
  const router = await startRouter(
    { ...common, tables, keys: { current: () => masters }, version: '0', peers: source },
    { public: loopback, peers: { ...loopback, advertised: '127.0.0.1' } },
  );
  const { peerAddress } = router;
  assert.ok(peerAddress !== undefined);
  const published = publishTable({ ...common, client, tables, namespace: 'default', name, peerAddress });
  let left: Promise<unknown> | undefined;
  const leave = async () => {
    left ??= Promise.all([published.stop(), router.close()]).then(() => source.stop());
    await left;
  };
  t.after(leave);
  await until(() => router.services.peers.ready, `${name} is ready`);
  await waitForLease(client, name);
  return { ...router, name, leave };
}

async function waitForLease(client: Client, name: string): Promise<void> {
  let lease: Lease | undefined;
  for (let tries = 0; lease === undefined && tries < 200; tries++) {
    lease = await client.find<Lease>(leaseResource, { namespace: 'default', name });
    if (lease === undefined) await systemClock.sleep(10);
  }
  assert.ok(lease, `${name} has published its Lease`);
}

async function ask({ port }: Replica, method: string, body: unknown, id?: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/mcp`, {
    method,
    headers: {
      accept: 'application/json, text/event-stream',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(id !== undefined && { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function begin(replica: Replica): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const answer = await ask(replica, 'POST', { jsonrpc: '2.0', id: 0, method: 'initialize', params });
  return answer.headers.get('mcp-session-id') ?? assert.fail('no session');
}

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

test('routers that find each other by their Leases end a session everywhere', {
  timeout: 60_000,
}, async (t) => {
  const embedded = await startEmbedded();
  t.after(() => embedded.stop());
  const first = await startReplica(t, embedded.client, 'ploinky-router-a');
  const before = await begin(first);
  assert.equal((await ask(first, 'DELETE', undefined, before)).status, 204);
  const second = await startReplica(t, embedded.client, 'ploinky-router-b');
  const third = await startReplica(t, embedded.client, 'ploinky-router-c');
  for (const replica of [second, third]) assert.equal((await ask(replica, 'POST', list, before)).status, 404);

  const id = await begin(second);
  for (const replica of [first, second, third])
    assert.equal((await ask(replica, 'POST', list, id)).status, 200);
  assert.equal((await ask(third, 'DELETE', undefined, id)).status, 204);
  for (const replica of [first, second, third])
    assert.equal((await ask(replica, 'POST', list, id)).status, 404);

  const last = await begin(first);
  await third.leave();
  assert.equal((await ask(first, 'DELETE', undefined, last)).status, 204);
  assert.equal((await ask(second, 'POST', list, last)).status, 404);
});
