import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { changesBinding } from './binding.ts';
import { answerChallenge, isNonce, proofPath } from './challenge.ts';
import { type AgentServerChange, followChanges } from './changes.ts';
import { connectProven } from './connect.ts';
import { deriveAgentKey, principalOf, type WireKey } from './keys.ts';
import { createReplayWindow } from './replay.ts';
import { demoAgent, masterKey } from './testing.ts';
import { createVerifier } from './token.ts';

const key = deriveAgentKey(masterKey(1), demoAgent);
const limits = { timeout: 20_000 };

async function listen(t: TestContext, server: Server | ReturnType<typeof createTcp>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'wire-'));
  const path = join(folder, 's');
  server.listen(path);
  await once(server, 'listening');
  t.after(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  return `unix:${path}`;
}

function proving(
  holder: WireKey,
  instance: string,
  more: RequestListener = (_, response) => response.end(),
): RequestListener {
  return (request, response) => {
    const url = new URL(request.url ?? '', 'http://agent');
    if (url.pathname !== proofPath) return more(request, response);
    const nonce = url.searchParams.get('nonce');
    assert.ok(isNonce(nonce));
    const body = JSON.stringify(answerChallenge(holder, instance, nonce));
    response.writeHead(200, { 'content-length': Buffer.byteLength(body) }).end(body);
  };
}

test('a peer that holds the key gives a socket that serves more requests', limits, async (t) => {
  const server = createServer(proving(key, 'w1', (_, response) => response.end('hello')));
  const address = await listen(t, server);
  const { socket } = await connectProven({ address, keys: [key], instance: 'w1', random: systemRandom });
  socket.write('GET / HTTP/1.1\r\nHost: agent\r\n\r\n');
  const [answer] = await once(socket, 'data');
  assert.match(String(answer), /^HTTP\/1.1 200[\s\S]*hello/);
  socket.destroy();
});

test('a peer with another key, another instance or an old nonce proves nothing', limits, async (t) => {
  const other = deriveAgentKey(masterKey(2), demoAgent);
  const recorded = answerChallenge(key, 'w1', 'A'.repeat(43));
  const impostors = [
    proving(other, 'w1'),
    proving(key, 'w2'),
    ((_, response) => {
      const body = JSON.stringify(recorded);
      response.writeHead(200, { 'content-length': body.length }).end(body);
    }) satisfies RequestListener,
  ];
  for (const impostor of impostors) {
    const address = await listen(t, createServer(impostor));
    await assert.rejects(connectProven({ address, keys: [key], instance: 'w1', random: systemRandom }), {
      code: 'ProofFailed',
    });
  }
});

test('a proof that comes in chunks is as good', limits, async (t) => {
  const server = createServer((request, response) => {
    const nonce = new URL(request.url ?? '', 'http://agent').searchParams.get('nonce') ?? '';
    const body = JSON.stringify(answerChallenge(key, 'w1', nonce));
    response.writeHead(200);
    response.write(body.slice(0, 20));
    setTimeout(() => response.end(body.slice(20)), 10);
  });
  const address = await listen(t, server);
  const { socket } = await connectProven({ address, keys: [key], instance: 'w1', random: systemRandom });
  socket.destroy();
});

const answers: Record<string, string> = {
  'a refusal': 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n',
  'no HTTP': 'SSH-2.0-OpenSSH\r\n\r\n',
  'an endless answer': 'x'.repeat(5000),
  'an empty chunked body': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'bytes after its chunks':
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nHTTP/1.1',
  'a chunk of no size': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
  'no JSON': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
  'bytes after the answer': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200',
};
for (const [what, answer] of Object.entries(answers)) {
  test(`a peer that answers with ${what} is left`, limits, async (t) => {
    const address = await listen(
      t,
      createTcp((socket) => socket.on('error', () => undefined).write(answer)),
    );
    await assert.rejects(connectProven({ address, keys: [key], instance: 'w1', random: systemRandom }), {
      code: 'ProofFailed',
    });
  });
}

test('a silent peer costs the deadline, an absent one nothing', limits, async (t) => {
  const address = await listen(
    t,
    createTcp((socket) => socket.on('error', () => undefined)),
  );
  await assert.rejects(
    connectProven({ address, keys: [key], instance: 'w1', timeoutMs: 50, random: systemRandom }),
    /no proof within 50 ms/,
  );
  await assert.rejects(
    connectProven({ address: 'unix:/nonexistent/s', keys: [key], instance: 'w1', random: systemRandom }),
    { code: 'ConnectFailed' },
  );
  await assert.rejects(
    connectProven({ address: 'nonsense', keys: [key], instance: 'w1', random: systemRandom }),
    { code: 'ConnectFailed' },
  );
});

test(
  'the change stream yields what the agent-server says, signed for, and ends by the signal',
  limits,
  async (t) => {
    const verifier = createVerifier({
      keys: [key],
      audience: principalOf('default', 'demo'),
      instance: 'w1',
      clock: systemClock,
      replay: createReplayWindow({ clock: systemClock }),
    });
    const state = {
      type: 'state',
      ready: true,
      reason: 'Ready',
      message: '',
      toolCount: 2,
      toolsDigest: 'd',
      lists: { tools: 'a', resources: 'b', prompts: 'c' },
      idle: true,
    };
    const server = createServer(
      proving(key, 'w1', (request, response) => {
        verifier.verify(request.headers.authorization?.replace('Bearer ', ''), changesBinding);
        response.write('{"type":"hello","version":"0.1.0","instance":"w1"}\n{"type":"news"}\n{"type":"sta');
        setTimeout(() => response.write(`${JSON.stringify(state).slice(12)}\n`), 20);
      }),
    );
    const address = await listen(t, server);
    const stop = new AbortController();
    const seen: AgentServerChange[] = [];
    const { signal } = stop;
    const who = { address, keys: [key], agent: demoAgent, instance: 'w1' };
    await followChanges({ ...who, clock: systemClock, random: systemRandom, signal }, (change) => {
      seen.push(change);
      if (seen.length === 2) stop.abort();
    });
    assert.deepEqual(seen, [{ type: 'hello', version: '0.1.0', instance: 'w1' }, state]);
  },
);

const broken: Record<string, RequestListener> = {
  ends: (_, response) => response.end('{"type":"ping"}\n'),
  'is refused': (_, response) => response.writeHead(401).end(),
  'sends no JSON': (_, response) => response.write('hello\n'),
  'sends an endless line': (_, response) => response.write('x'.repeat(100_000)),
  'goes silent': (_, response) => response.flushHeaders(),
};
for (const [what, listener] of Object.entries(broken)) {
  test(`a change stream that ${what} is reported as broken`, limits, async (t) => {
    const address = await listen(t, createServer(proving(key, 'w1', listener)));
    const { signal } = new AbortController();
    const who = { address, keys: [key], agent: demoAgent, instance: 'w1' };
    const options = { ...who, clock: systemClock, random: systemRandom, signal, idleTimeoutMs: 100 };
    await assert.rejects(
      followChanges(options, () => undefined),
      { code: 'ChangesBroken' },
    );
  });
}
