import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createFakeClock, until } from '#test/fixtures/fake-clock.ts';
import type { ProvenConnection } from '#wire/connect.ts';
import { deriveAgentKey } from '#wire/keys.ts';
import { demoAgent, masterKey } from '#wire/testing.ts';
import { type AgentPool, openAgentPool } from './agent-pool.ts';

const bounded = { timeout: 20_000 };
const [older, newer] = [deriveAgentKey(masterKey(1), demoAgent), deriveAgentKey(masterKey(2), demoAgent)];

/** A pool of an instance that holds the older key; the test says when a connection is proven. */
async function start(t: TestContext) {
  const peers = new Set<Socket>();
  const server = createServer((socket) => {
    peers.add(
      socket
        .on('close', () => peers.delete(socket))
        .on('error', () => undefined)
        .resume(),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clock = createFakeClock();
  const sockets: Socket[] = [];
  let proof: Promise<void> = Promise.resolve();
  const pool = openAgentPool({
    connections: 1,
    keys: () => [newer, older],
    clock,
    onFailure: () => undefined,
    async connect(): Promise<ProvenConnection> {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      await once(socket, 'connect');
      sockets.push(socket);
      await proof;
      return { socket, key: older };
    },
  });
  t.after(async () => {
    await pool.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    proof = promise;
    return resolve;
  };
  return { pool, clock, sockets, peers, hold };
}

test('a connection that was made only to learn a newer key is not kept', bounded, async (t) => {
  const { pool, clock, sockets, peers } = await start(t);
  await pool.prove();
  assert.equal(sockets[0]?.destroyed, false, 'kept for the request that waits');
  await clock.advance(30_000);
  assert.equal(pool.signingKey()?.kid, older.kid);
  await until(() => sockets.length === 2 && peers.size === 0, 'both connections to end');
  assert.equal(sockets[1]?.destroyed, true);
});

const ends: Record<string, (pool: AgentPool) => Promise<void>> = {
  retired: (pool) => pool.retire(),
  closed: (pool) => pool.close(),
};
for (const [how, end] of Object.entries(ends)) {
  test(`a connection that is proven after its pool was ${how} is not kept`, bounded, async (t) => {
    const { pool, sockets, hold } = await start(t);
    const prove = hold();
    const proving = pool.prove();
    await until(() => sockets.length === 1, 'the connection');
    await end(pool);
    prove();
    await proving;
    assert.equal(sockets[0]?.destroyed, true);
  });
}
