import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { metaKeys, tasksExtension } from '#mcp/eras.ts';
import { type TestServer, testServer } from '../testing/harness.ts';

const limits = { timeout: 30_000 };

interface Heard {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly params: Record<string, unknown>;
}

/** An HTTP MCP server that serves clients with sessions and, when it is told to, those of 2026-07-28. */
async function startUpstream(t: TestContext, stateless: boolean): Promise<{ port: number; heard: Heard[] }> {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405).end();
      return;
    }
    const { id, method, params = {} } = (await json(request)) as { id?: number } & Omit<Heard, 'headers'>;
    heard.push({ method, headers: request.headers, params });
    if (id === undefined) {
      response.writeHead(202).end();
      return;
    }
    const answer = answerOf(method, params, stateless);
    response.setHeader('content-type', 'application/json');
    if (method === 'initialize') response.setHeader('mcp-session-id', 'session-of-upstream');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, heard };
}

function answerOf(method: string, params: Record<string, unknown>, stateless: boolean): object {
  const extensions = { [tasksExtension]: {}, 'example.com/other': {} };
  const results: Record<string, object> = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} } },
    'tools/list': { tools: [{ name: 'ask', inputSchema: { type: 'object' } }] },
    'tools/call':
      params['name'] === 'job'
        ? { resultType: 'task', taskId: 'task-1', status: 'working' }
        : params['inputResponses'] === undefined && params['_meta'] !== undefined
          ? {
              resultType: 'input_required',
              inputRequests: { who: { method: 'elicitation/create', params: {} } },
            }
          : { content: [{ type: 'text', text: 'done' }] },
    ...(stateless && {
      'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {}, extensions } },
      'tasks/get': { resultType: 'complete', taskId: params['taskId'], status: 'working' },
    }),
  };
  const result = results[method];
  return result === undefined ? { error: { code: -32601, message: `no ${method}` } } : { result };
}

async function startAgent(t: TestContext, stateless: boolean): Promise<TestServer & { heard: Heard[] }> {
  const { port, heard } = await startUpstream(t, stateless);
  return { ...(await testServer(t, { mcp: { upstream: { port } } })), heard };
}

const capabilities = { elicitation: { form: {} }, extensions: { [tasksExtension]: {} } };

function postStateless(agent: TestServer, method: string, params: Record<string, unknown>) {
  const meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: capabilities };
  return agent.post(
    { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
    {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': String(params['name'] ?? params['taskId']),
    },
  );
}

test('a server of both eras serves a client of 2026-07-28 in its own era', limits, async (t) => {
  const agent = await startAgent(t, true);
  const first = await postStateless(agent, 'tools/call', { name: 'ask', arguments: {} });
  assert.equal(first.json.result['resultType'], 'input_required', first.text);
  const { headers, params } = agent.heard.at(-1) ?? assert.fail();
  assert.equal(headers['mcp-session-id'], undefined);
  assert.deepEqual(
    [headers['mcp-protocol-version'], headers['mcp-method'], headers['mcp-name']],
    ['2026-07-28', 'tools/call', 'ask'],
  );
  const meta = params['_meta'] as Record<string, unknown>;
  assert.deepEqual(meta[metaKeys.clientCapabilities], capabilities, 'it may ask what the client can answer');
  const responses = { who: { action: 'accept', content: { name: 'Ana' } } };
  const second = await postStateless(agent, 'tools/call', {
    name: 'ask',
    arguments: {},
    inputResponses: responses,
  });
  assert.equal(second.json.result.content[0]?.text, 'done');
  assert.deepEqual(agent.heard.at(-1)?.params['inputResponses'], responses);
});

test('its tasks are announced and reached; other extensions are not promised', limits, async (t) => {
  const agent = await startAgent(t, true);
  const discovered = await postStateless(agent, 'server/discover', {});
  const { extensions } = discovered.json.result['capabilities'] as { extensions: object };
  assert.deepEqual(extensions, { [tasksExtension]: {} });
  const { taskId } = (await postStateless(agent, 'tools/call', { name: 'job', arguments: {} })).json.result;
  const task = await postStateless(agent, 'tasks/get', { taskId });
  assert.deepEqual([task.json.result['taskId'], task.json.result['status']], [taskId, 'working'], task.text);
  assert.equal(agent.heard.at(-1)?.headers['mcp-name'], 'task-1');
});

test(
  'a server of sessions alone still serves clients of 2026-07-28, without questions and tasks',
  limits,
  async (t) => {
    const agent = await startAgent(t, false);
    const call = await postStateless(agent, 'tools/call', { name: 'ask', arguments: {} });
    assert.equal(call.json.result.content[0]?.text, 'done', call.text);
    assert.equal(agent.heard.at(-1)?.headers['mcp-session-id'], 'session-of-upstream');
    const task = await postStateless(agent, 'tasks/get', { taskId: 'task-1' });
    assert.deepEqual([task.status, task.json.error.code], [404, -32601]);
    const discovered = await postStateless(agent, 'server/discover', {});
    assert.equal(
      (discovered.json.result['capabilities'] as object & { extensions?: object }).extensions,
      undefined,
    );
  },
);
