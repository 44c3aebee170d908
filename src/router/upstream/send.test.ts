import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { until } from '#test/fixtures/fake-clock.ts';
import { bindHttpService } from '#wire/binding.ts';
import { anonymous } from '../caller.ts';
import type { RouterError } from '../errors.ts';
import { gatewayStatus } from '../plugins/gateway-status.ts';
import { startFakeAgent } from '../testing/fake-agent.ts';
import { agentOf, master, startTestRouter, type TestRouter } from '../testing/harness.ts';
import { openSession, post, request } from '../testing/mcp-client.ts';
import type { Flow } from './send.ts';

const limits = { timeout: 30_000 };
const path = '/mcps/demo/mcp';

test('an agent that was replaced is found again without a failed call', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const headers = await openSession(router, path);
  await post(router, request('ping'), { path, headers });
  await router.agents[0]?.stop();
  const next = await startFakeAgent({ name: 'demo', master, instance: 'demo-2' });
  t.after(() => next.stop());
  const during = post(router, request('tools/call', { name: 'echo', arguments: { text: 'x' } }), {
    path,
    headers,
  });
  setTimeout(() => router.tables.set([agentOf(next)]), 100);
  assert.equal((await during).json.result.content[0].text, 'demo: x');
  assert.equal(next.seen.length, 1, 'sent once');
});

test('an agent that is gone and not replaced is an error after the wait', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }], { limits: { readyWaitMs: 100 } });
  const headers = await openSession(router, path);
  await router.agents[0]?.stop();
  const reply = await post(router, request('ping'), { path, headers });
  assert.equal(reply.json.error.code, -32000);
  assert.match(reply.json.error.message, /cannot be reached/);
});

test(
  'a connection that breaks during the call is reported, and the call is not sent again',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo', hang: ['ping'] }]);
    const headers = await openSession(router, path);
    const [demo] = router.agents;
    assert.ok(demo !== undefined);
    const call = post(router, request('ping'), { path, headers });
    while (!demo.seen.some((seen) => seen.body.includes('ping')))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await demo.stop();
    const reply = await call;
    assert.equal(reply.json.error.code, -32603);
    assert.match(reply.json.error.message, /was lost; the call may have run/);
    assert.equal(demo.seen.filter((seen) => seen.body.includes('ping')).length, 1);
  },
);

test(
  'a call on an instance that exists no more is given up, one on an instance that ends is not',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo', hang: ['ping'] }], { limits: { goneMs: 100 } });
    const headers = await openSession(router, path);
    const [demo] = router.agents;
    assert.ok(demo !== undefined);
    let over = false;
    const call = post(router, request('ping'), { path, headers }).finally(() => {
      over = true;
    });
    while (!demo.seen.some((seen) => seen.body.includes('ping')))
      await new Promise((resolve) => setTimeout(resolve, 5));
    router.tables.set([agentOf(demo, { ready: false })]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(over, false);
    router.tables.set([]);
    assert.match((await call).json.error.message, /was lost; the call may have run/);
  },
);

test('a call without any sign of life ends at the call timeout', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo', hang: ['ping'] }], {
    limits: { callTimeoutMs: 200 },
  });
  const headers = await openSession(router, path);
  const reply = await post(router, request('ping'), { path, headers });
  assert.match(reply.json.error.message, /did not answer in time/);
});

test(
  'a request that no agent can be sent is refused at once, and no instance is blamed',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }]);
    await post(router, { a: 1 }, { path: '/apis/demo/x' });
    const { promise, resolve, reject } = Promise.withResolvers<RouterError>();
    const call = {
      ...{ agent: 'default/demo', method: 'GET', path: '/api/x', headers: { 'x-a': 'line\nbreak' } },
      ...{ binding: bindHttpService('GET', '/api/x', ''), caller: anonymous, readyWaitMs: 20_000 },
    };
    const begun = performance.now();
    router.services.sender.send(call, () => ({
      head: () => reject(new Error('it was sent')),
      data: () => true,
      ended: () => reject(new Error('it was answered')),
      failed: resolve,
    }));
    const error = await promise;
    assert.equal(error.code, 'RequestInvalid');
    assert.match(error.message, /invalid x-a header.*Nothing of it was sent/);
    assert.equal(gatewayStatus(error), 400);
    assert.ok(performance.now() - begun < 5_000);
  },
);

/** A call on the agent's own API. */
function apiCall(path: string) {
  const call = { agent: 'default/demo', method: 'GET', path, headers: {}, caller: anonymous };
  return { ...call, binding: bindHttpService('GET', path, '') };
}

/** Sends it; ends with its status. */
function sendTo(router: TestRouter, path: string) {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let flow: Flow | undefined;
  router.services.sender.send(apiCall(path), (own) => {
    flow = own;
    let status = 0;
    return {
      head: (code) => {
        status = code;
      },
      data: () => true,
      ended: () => resolve(status),
      failed: reject,
    };
  });
  return { done: promise, abort: () => flow?.abort() };
}

test('what says something to running calls does not wait for them', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo', hang: ['ping'] }], {
    limits: { connectionsPerAgent: 1 },
  });
  const headers = await openSession(router, path);
  const [demo] = router.agents;
  assert.ok(demo !== undefined);
  void post(router, request('ping'), { path, headers });
  await until(
    () => demo.seen.some((seen) => seen.body.includes('ping')),
    'the call that holds the connection',
  );
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  const answer = { jsonrpc: '2.0', id: 'demo-1.7', result: {} };
  for (const message of [cancel, answer])
    assert.equal((await post(router, message, { path, headers })).status, 202);
  const ended = await post(router, undefined, { method: 'DELETE', path, headers });
  assert.equal(ended.status, 204);
  await until(() => demo.seen.some((seen) => seen.method === 'DELETE'), 'the end of the session');
});

test('a call for which no connection becomes free fails in time, as not sent', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }], {
    limits: { connectionsPerAgent: 1, callTimeoutMs: 200, readyWaitMs: 20_000 },
  });
  const first = { ...apiCall('/api/slow'), silenceMs: 0 };
  const nothing = { head: () => {}, data: () => true, ended: () => {}, failed: () => {} };
  router.services.sender.send(first, () => nothing);
  await until(() => router.agents[0]?.seen.length === 1, 'the call that holds the connection');
  await assert.rejects(sendTo(router, '/api/x').done, {
    code: 'AgentUnavailable',
    message: /busy.*not sent/,
  });
  assert.equal(router.agents[0]?.seen.length, 1);
});

test('a call that is ended while it waits for a connection opens none', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }], { limits: { connectionsPerAgent: 1 } });
  const [demo] = router.agents;
  const first = sendTo(router, '/api/slow');
  await until(() => demo?.seen.length === 1, 'the call that holds the connection');
  const before = demo?.connections();
  sendTo(router, '/api/x').abort();
  first.abort();
  await until(() => demo?.aborted.length === 1, 'the first call to end');
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(demo?.connections(), before);
  assert.equal(await sendTo(router, '/api/y').done, 200);
});

test('an instance that is listed no more gets no call that was on its way to it', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const [demo] = router.agents;
  assert.ok(demo !== undefined);
  const gate = await startGate(t, demo.address);
  const slow = { ...demo, address: gate.address };
  router.tables.set([agentOf(slow)]);
  const { done } = sendTo(router, '/api/x');
  await until(() => gate.connections() === 1, 'a connection to the first');
  const next = await startFakeAgent({ name: 'demo', master, instance: 'demo-2' });
  t.after(() => next.stop());
  router.tables.set([agentOf(next)]);
  gate.open();
  assert.equal(await done, 200);
  assert.deepEqual([demo.seen.length, next.seen.length, gate.connections()], [0, 1, 1]);
});

/** In front of an agent: what is said to it comes there once the gate is open. */
async function startGate(t: TestContext, address: string) {
  const folder = mkdtempSync(join(tmpdir(), 'gate-'));
  const opened = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    const agent = connect(address.replace('unix:', ''));
    for (const one of [socket, agent]) sockets.push(one.on('error', () => undefined));
    opened.promise.then(() => socket.pipe(agent).pipe(socket));
  }).listen(join(folder, 's'));
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { address: `unix:${join(folder, 's')}`, connections: () => count, open: () => opened.resolve() };
}

test('nothing of a call reaches a process that does not hold the agent’s key', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo', impostor: true }], {
    limits: { readyWaitMs: 50 },
  });
  const reply = await post(
    router,
    request('initialize', { protocolVersion: '2025-11-25', capabilities: {} }),
    { path },
  );
  assert.match(reply.json.error.message, /cannot be reached/);
  assert.deepEqual(router.agents[0]?.seen, []);
  assert.deepEqual(router.agents[0]?.refused, []);
});

test('tokens name the workload, the audience and the session; none is ever used twice', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const headers = await openSession(router, path);
  for (let call = 0; call < 20; call += 1) await post(router, request('ping'), { path, headers });
  const [demo] = router.agents;
  assert.deepEqual(demo?.refused, []);
  const claims = demo?.seen.map((seen) => seen.claims) ?? [];
  assert.equal(new Set(claims.map((claim) => claim.jti)).size, claims.length);
  for (const claim of claims) {
    assert.equal(claim.wl, 'demo-1');
    assert.equal(claim.aud, 'agent:default/demo');
    assert.equal(claim.exp - claim.iat, 60);
  }
});

test('identity headers, cookies and credentials of clients reach no agent', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const spoofed = {
    authorization: 'Bearer client-token',
    cookie: 'ploinky_jwt=secret',
    'x-forwarded-for': '10.0.0.1',
    'x-forwarded-user': 'root',
    'x-user-id': 'root',
    'x-real-ip': '10.0.0.1',
    'x-ploinky-auth-info': '{"user":"root"}',
    'proxy-authorization': 'Basic x',
    forwarded: 'for=1.2.3.4',
  };
  const headers = { ...(await openSession(router, path)), ...spoofed };
  await post(router, request('tools/call', { name: 'echo' }), { path, headers });
  await post(router, { a: 1 }, { path: '/apis/demo/x', headers: spoofed });
  for (const seen of router.agents[0]?.seen ?? []) {
    for (const name of Object.keys(spoofed)) {
      if (name === 'authorization') assert.equal(seen.headers[name], `Bearer ${seen.token}`);
      else assert.equal(seen.headers[name], undefined, `${name} at ${seen.url}`);
    }
    assert.equal(seen.headers['mcp-session-id'], undefined);
  }
});
