import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { deriveAgentKey, deriveSubkey } from '#wire/keys.ts';
import { unseal } from '#wire/seal.ts';
import { demoAgent } from '#wire/testing.ts';
import type { Ended } from '../mcp/sessions.ts';
import { master } from '../testing/harness.ts';
import { openSession, post, request } from '../testing/mcp-client.ts';
import { createDirectory, startPeer, type TestPeer } from '../testing/peers.ts';
import { peerPaths, sealEnded, sealGreeting } from './messages.ts';

const bounded = { timeout: 30_000 };
const keys = [deriveSubkey(master, 'session-seal')];
const agentKey = [deriveAgentKey(master, demoAgent)];
const from = '127.0.0.1:9';

/** A router, an open session at it, and what another router would say of that session. */
async function startAsked(t: TestContext) {
  const router = await startPeer(t, createDirectory());
  const headers = await openSession(router);
  const id = unseal(keys, 'mcp-session', String(headers['mcp-session-id']));
  const ended: Ended = { key: String(id?.['k']), expires: Number(id?.['e']) };
  const status = async () => (await post(router, request('ping'), { headers })).status;
  return { router, ended, status };
}

async function send({ address }: TestPeer, body: string, path: string = peerPaths.ended, method = 'POST') {
  const answer = await fetch(`http://${address}${path}`, { method, ...(method === 'POST' && { body }) });
  return { status: answer.status, text: await answer.text() };
}

test('what a router says ends the session, and said again changes nothing', bounded, async (t) => {
  const { router, ended, status } = await startAsked(t);
  assert.equal(await status(), 200);
  const [message = ''] = sealEnded(keys, 'peer-ended', [ended], Date.now());
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(await send(router, message), { status: 204, text: '' });
    assert.equal(await status(), 404);
  }
  assert.deepEqual(router.services.sessions.lastEnded(10), [ended]);
});

test(
  'what an agent seals, what is too old, damaged, too long or elsewhere is 404 and ends nothing',
  bounded,
  async (t) => {
    const { router, ended, status } = await startAsked(t);
    const [good = ''] = sealEnded(keys, 'peer-ended', [ended], Date.now());
    const [agents = ''] = sealEnded(agentKey, 'peer-ended', [ended], Date.now());
    const [old = ''] = sealEnded(keys, 'peer-ended', [ended], Date.now() - 61_000);
    const damaged = `${good.slice(0, 50)}${good[50] === 'A' ? 'B' : 'A'}${good.slice(51)}`;
    const refused = [
      ...[agents, old, damaged, '', good.repeat(20), '{}'].map((body) => send(router, body)),
      ...[agents, old, good, ''].map((body) => send(router, body, peerPaths.list)),
      send(router, sealGreeting(agentKey, { from, missed: true }, Date.now()), peerPaths.list),
      ...[
        '/',
        '/mcp',
        '/health',
        '/metrics',
        `${peerPaths.ended}/`,
        `${peerPaths.ended}?x`,
        '/x/../.ploinky/sessions/ended',
      ].map((path) => send(router, good.slice(1), path)),
      ...['GET', 'DELETE', 'PUT', 'HEAD', 'OPTIONS'].map((method) =>
        send(router, '', peerPaths.ended, method),
      ),
    ];
    for (const answer of await Promise.all(refused)) assert.deepEqual(answer, { status: 404, text: '' });
    assert.equal(await status(), 200);
    assert.deepEqual(router.services.sessions.lastEnded(10), []);
  },
);

test('the public endpoint knows nothing of these messages', bounded, async (t) => {
  const { router, ended, status } = await startAsked(t);
  const base = await router.listen();
  const [message = ''] = sealEnded(keys, 'peer-ended', [ended], Date.now());
  for (const path of Object.values(peerPaths)) {
    const answer = await fetch(`${base}${path}`, { method: 'POST', body: message });
    assert.ok(answer.status >= 400, `${path} ${answer.status}`);
  }
  assert.equal(await status(), 200);
});

test('a body that never ends is cut off while it comes', bounded, async (t) => {
  const { router } = await startAsked(t);
  const socket = connect(Number(router.address.split(':')[1]), '127.0.0.1');
  socket.on('error', () => undefined);
  let said = '';
  socket.on('data', (part) => {
    said += part;
  });
  socket.write(`POST ${peerPaths.ended} HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000000\r\n\r\n`);
  const writing = setInterval(() => socket.write('A'.repeat(1024)), 1);
  t.after(() => clearInterval(writing));
  await once(socket, 'close');
  assert.match(said, /^HTTP\/1\.1 404 /);
});

test('a greeting is answered with a list that only routers can read', bounded, async (t) => {
  const { router, ended } = await startAsked(t);
  router.services.sessions.end(ended);
  const greeting = sealGreeting(keys, { from, missed: false }, Date.now());
  const answer = await send(router, greeting, peerPaths.list);
  assert.equal(answer.status, 200);
  assert.deepEqual(unseal(keys, 'peer-list', answer.text)?.['e'], [[ended.key, ended.expires]]);
  assert.equal(unseal(agentKey, 'peer-list', answer.text), undefined);
});
