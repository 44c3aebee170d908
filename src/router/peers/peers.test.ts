import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { settle, until } from '#test/fixtures/fake-clock.ts';
import { startTestRouter } from '../testing/harness.ts';
import { openSession, post, request } from '../testing/mcp-client.ts';
import { createDirectory, startPeer, type TestPeer } from '../testing/peers.ts';

const bounded = { timeout: 30_000 };
const paths = ['/mcp', '/mcps/demo/mcp'];

type Headers = Record<string, string>;

async function end(router: TestPeer, headers: Headers, path = '/mcp'): Promise<void> {
  assert.equal((await post(router, undefined, { method: 'DELETE', headers, path })).status, 204);
}

async function statusAt(router: TestPeer, headers: Headers, path = '/mcp'): Promise<number> {
  return (await post(router, request('ping'), { headers, path })).status;
}

/** Takes connections and never answers. */
async function startSilence(t: TestContext): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

for (const path of paths) {
  test(
    `a session that a DELETE ended at one router is unknown at the others: ${path}`,
    bounded,
    async (t) => {
      const directory = createDirectory();
      const first = await startPeer(t, directory);
      const second = await startPeer(t, directory);
      const third = await startPeer(t, directory);
      for (let round = 0; round < 20; round++) {
        const headers = await openSession(first, path);
        assert.equal(await statusAt(second, headers, path), 200);
        await end(second, headers, path);
        const seen = [await statusAt(first, headers, path), await statusAt(third, headers, path)];
        assert.deepEqual(seen, [404, 404]);
      }
    },
  );
}

test(
  'control: routers that do not know each other answer for a session that ended elsewhere',
  bounded,
  async (t) => {
    const first = await startPeer(t, createDirectory());
    const second = await startPeer(t, createDirectory());
    const headers = await openSession(first);
    await end(first, headers);
    assert.equal(await statusAt(second, headers), 200);
  },
);

test(
  'a router that starts later knows what ended before, and is told although nobody announced it',
  bounded,
  async (t) => {
    const directory = createDirectory();
    const first = await startPeer(t, directory);
    const sessions = [];
    for (let count = 0; count < 40; count++) sessions.push(await openSession(first));
    const [kept = {}, later = {}, ...ended] = sessions;
    for (const headers of ended) await end(first, headers);
    const late = await startPeer(t, directory, { announced: false });
    for (const headers of ended) assert.equal(await statusAt(late, headers), 404);
    assert.equal(await statusAt(late, kept), 200);
    await end(first, later);
    assert.equal(await statusAt(late, later), 404);
  },
);

test('of very many only the last ones are told to a router that starts', bounded, async (t) => {
  const directory = createDirectory();
  const first = await startPeer(t, directory, { limits: { peerList: 2 } });
  const sessions = [];
  for (let count = 0; count < 3; count++) sessions.push(await openSession(first));
  for (const headers of sessions) await end(first, headers);
  const late = await startPeer(t, directory);
  const seen = await Promise.all(sessions.map((headers) => statusAt(late, headers)));
  assert.deepEqual(seen, [200, 404, 404]);
});

test(
  'two that start at the same time learn from each other when they hear of each other',
  bounded,
  async (t) => {
    const directory = createDirectory();
    const [first, second] = [
      await startPeer(t, directory, { announced: false }),
      await startPeer(t, directory, { announced: false }),
    ];
    const headers = await openSession(first);
    await end(first, headers);
    assert.equal(await statusAt(second, headers), 200);
    directory.alive(first.address);
    await until(() => second.services.sessions.lastEnded(10).length === 1, 'the second has heard of it');
    assert.equal(await statusAt(second, headers), 404);
  },
);

test(
  'a router that does not answer delays one DELETE up to the limit and none after it',
  bounded,
  async (t) => {
    const directory = createDirectory();
    const first = await startPeer(t, directory, {
      limits: { peerTimeoutMs: 300, peerListTimeoutMs: 20_000 },
    });
    const second = await startPeer(t, directory);
    directory.alive(await startSilence(t));
    const sessions = [await openSession(first), await openSession(first)];
    const times = [];
    for (const headers of sessions) {
      const started = performance.now();
      await end(first, headers);
      times.push(performance.now() - started);
      assert.equal(await statusAt(second, headers), 404);
    }
    const [waited = 0, after = 0] = times;
    assert.ok(waited >= 295 && waited < 2_000, `waited ${waited} ms`);
    assert.ok(after < 295, `then ${after} ms`);
  },
);

test(
  'a router that does not answer keeps another from getting ready for a bounded time',
  bounded,
  async (t) => {
    const directory = createDirectory();
    directory.alive(await startSilence(t));
    directory.alive('127.0.0.1:1');
    const started = performance.now();
    const router = await startPeer(t, directory, { limits: { peerListTimeoutMs: 300 } });
    const took = performance.now() - started;
    assert.ok(took >= 295 && took < 5_000, `${took} ms`);
    assert.equal((await post(router, undefined, { method: 'GET', path: '/ready' })).status, 200);
  },
);

test(
  'it is not ready before it has met the others, also when nobody can say who they are',
  bounded,
  async (t) => {
    const { source } = createDirectory();
    const router = await startTestRouter(t, [], {
      peers: { ...source, synced: new Promise(() => undefined) },
      limits: { peerListTimeoutMs: 200 },
    });
    const ready = async () => (await post(router, undefined, { method: 'GET', path: '/ready' })).status;
    router.services.peers.start('127.0.0.1:1');
    await settle();
    assert.equal(await ready(), 503);
    await until(() => router.services.peers.ready, 'the wait is over');
    assert.equal(await ready(), 200);
  },
);

test(
  'what a router missed while it could not be reached it learns at its next sign of life',
  bounded,
  async (t) => {
    const directory = createDirectory();
    const first = await startPeer(t, directory);
    const second = await startPeer(t, directory);
    const [one, two] = [await openSession(first), await openSession(first)];
    await second.fallSilent();
    await end(first, one);
    assert.equal(await statusAt(second, one), 200);
    await second.comeBack();
    directory.alive(second.address);
    await until(() => second.services.sessions.lastEnded(10).length === 1, 'the second has caught up');
    assert.equal(await statusAt(second, one), 404);
    await end(first, two);
    assert.equal(await statusAt(second, two), 404);
  },
);

test('a router that ends is still told, for it still serves', bounded, async (t) => {
  const directory = createDirectory();
  const first = await startPeer(t, directory);
  const second = await startPeer(t, directory);
  directory.leave(second.address);
  const headers = await openSession(first);
  await end(first, headers);
  assert.equal(await statusAt(second, headers), 404);
});

test('a router that ends and one that starts meanwhile learn from each other', bounded, async (t) => {
  const directory = createDirectory();
  const ending = await startPeer(t, directory);
  directory.leave(ending.address);
  const starting = await startPeer(t, directory, { announced: false });
  const [before, after] = [await openSession(ending), await openSession(ending)];
  await end(ending, before);
  assert.equal(await statusAt(starting, before), 200);
  directory.alive(starting.address);
  await until(() => starting.services.sessions.lastEnded(10).length === 1, 'the one that starts has asked');
  await end(ending, after);
  const seen = [await statusAt(starting, before), await statusAt(starting, after)];
  assert.deepEqual(seen, [404, 404]);
});

test('an expired session is not remembered', bounded, async (t) => {
  const router = await startPeer(t, createDirectory());
  router.services.sessions.end({ key: 'over', expires: Math.floor(Date.now() / 1000) - 1 });
  assert.deepEqual(router.services.sessions.lastEnded(10), []);
});
