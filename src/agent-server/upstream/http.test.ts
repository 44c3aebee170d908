import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { encodeMessage, sseHeaders } from '#mcp/sse.ts';
import type { CallContext } from '../source.ts';
import type { UpstreamCall } from './connection.ts';
import { httpConnector } from './http.ts';

const limits = { timeout: 30_000 };

const answers = {
  initialize: { protocolVersion: '2025-11-25', capabilities: {} },
  'server/discover': { supportedVersions: ['2026-07-28'], capabilities: {} },
} as const;

/** A server of one era that answers every other method with nothing, and keeps every stream open. */
async function connect(t: TestContext, handshake: keyof typeof answers) {
  let streams = 0;
  const server = createServer(async (request, response) => {
    const { id, method } =
      request.method === 'POST' ? ((await json(request)) as Record<string, unknown>) : {};
    if (request.method === 'GET' || method === 'subscriptions/listen') {
      streams += 1;
      const ack = { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: {} } as const;
      response.writeHead(200, sseHeaders).write(encodeMessage(ack));
      return;
    }
    const other = method === 'initialize' || method === 'server/discover';
    const error = { code: -32_601, message: 'not served' };
    const answer = other && method !== handshake ? { error } : { result: other ? answers[method] : {} };
    response.writeHead(id === undefined ? 202 : 200, { 'content-type': 'application/json' });
    response.end(id === undefined ? undefined : JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const open = httpConnector({
    ...{ port, path: '/', clock: systemClock, startMs: 10_000, maxMessageBytes: 10_000 },
    ...{ maxSessions: 1000, sessionIdleMs: 60_000 },
  });
  const connection = await open({ onNotification: () => undefined }, new AbortController().signal);
  t.after(async () => {
    await connection.close();
    server.closeAllConnections();
    server.close();
  });
  return { connection, streams: () => streams };
}

function callOf(session: string): UpstreamCall {
  const { signal } = new AbortController();
  const context: CallContext = {
    ...{ era: 'sessions', revision: '2025-11-25', session, requestId: 1, headers: {}, signal },
    ...{ claims: undefined, token: undefined, capabilities: { roots: {} }, logLevel: undefined },
    ...{ onProgress: undefined, onLog: () => undefined, ask: async () => ({}) },
  };
  return { signal, timeoutMs: 10_000, context };
}

test('the streams of many clients leave connections for their calls', limits, async (t) => {
  const { connection, streams } = await connect(t, 'initialize');
  for (let client = 0; client < 300; client++) {
    await connection.request('tools/call', { name: 'a' }, callOf(`session-${client}`));
  }
  assert.ok(streams() > 290, `${streams()} streams`);
});

test('a server of 2026-07-28 has one stream for all clients', limits, async (t) => {
  const { connection, streams } = await connect(t, 'server/discover');
  for (const session of ['a', 'b', 'c']) await connection.request('tools/call', {}, callOf(session));
  assert.equal(streams(), 1);
});
