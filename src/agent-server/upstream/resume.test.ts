import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { encodeEvent, encodeMessage, sseHeaders } from '#mcp/sse.ts';
import { askForEvents } from '../testing/event-client.ts';
import { openSession, testServer, toolCall } from '../testing/harness.ts';

const limits = { timeout: 30_000 };

/**
 * A server that ends the stream of a tool call at once, and gives the answer to who comes back for it: `polls`
 * GETs later. 0: never, GET is not served.
 */
async function startUpstream(t: TestContext, polls: number): Promise<{ port: number; asked: unknown[] }> {
  const asked: unknown[] = [];
  let call: number | undefined;
  const server = createServer(async (request, response) => {
    if (request.method === 'GET' && (call === undefined || polls === 0)) response.writeHead(405).end();
    else if (request.method === 'GET') {
      asked.push(request.headers['last-event-id']);
      const result = { content: [{ type: 'text', text: 'late' }] };
      response.writeHead(200, sseHeaders);
      if (asked.length < polls) response.end(encodeEvent({ id: `event-${asked.length}`, data: '' }));
      else response.end(encodeMessage({ jsonrpc: '2.0', id: call, result }, 'event-last'));
    } else {
      const { id, method } = (await json(request)) as { id?: number; method: string };
      if (method === 'tools/call') {
        call = id;
        response.writeHead(200, sseHeaders).end(encodeEvent({ id: 'event-0', retry: 60, data: '' }));
        return;
      }
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answerOf(method) }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

function answerOf(method: string): object {
  if (method === 'initialize')
    return { result: { protocolVersion: '2025-11-25', capabilities: { tools: {} } } };
  if (method === 'tools/list')
    return { result: { tools: [{ name: 'late', inputSchema: { type: 'object' } }] } };
  return { error: { code: -32601, message: `no ${method}` } };
}

async function callThrough(t: TestContext, port: number, protocolVersion = '2025-06-18') {
  const agent = await testServer(t, { mcp: { upstream: { port } } });
  const session = await agent.post({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } },
  });
  const headers = { 'mcp-session-id': String(session.headers['mcp-session-id']) };
  return agent.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'late' } }, headers);
}

test(
  'a server that ends the stream of a call is asked for the rest, as often as it takes',
  limits,
  async (t) => {
    const { port, asked } = await startUpstream(t, 3);
    const answer = await callThrough(t, port);
    assert.equal(answer.json.result.content[0]?.text, 'late', answer.text);
    assert.deepEqual(asked, ['event-0', 'event-1', 'event-2']);
  },
);

test(
  'a server that ends the stream of a call and gives no rest is an error, not a wait',
  limits,
  async (t) => {
    const { port } = await startUpstream(t, 0);
    const answer = await callThrough(t, port);
    assert.match(answer.json.error.message, /gave no answer/);
  },
);

test(
  'a client that can come back is let go whenever the server ends its stream, with the pause it wants',
  limits,
  async (t) => {
    const { port, asked } = await startUpstream(t, 2);
    const agent = await testServer(t, { mcp: { upstream: { port } } });
    const headers = {
      'mcp-session-id': await openSession(agent),
      'mcp-protocol-version': '2025-11-25',
    };
    const url = `${agent.url}/mcp`;
    const call = await askForEvents(t, url, { headers, message: toolCall('late') });
    await call.until('it ends', () => call.ended === 'complete');
    assert.deepEqual(
      call.events.map(({ data, retry }) => [data, retry]),
      [
        ['', 1000],
        ['', 60],
      ],
    );
    let last = call.lastEventId;
    for (let poll = 0; poll < 10; poll += 1) {
      const back = await askForEvents(t, url, { headers: { ...headers, 'last-event-id': last ?? '' } });
      await back.until('it ends', () => back.ended === 'complete');
      last = back.lastEventId ?? last;
      if (back.messages().length === 0) continue;
      assert.equal(back.messages()[0]?.result.content[0]?.text, 'late');
      assert.deepEqual(asked, ['event-0', 'event-1']);
      return;
    }
    assert.fail('no answer came');
  },
);
