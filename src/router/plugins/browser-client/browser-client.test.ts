import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startTestRouter } from '../../testing/harness.ts';
import { openSession, post } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };

interface BrowserClient {
  connect(): Promise<void>;
  listTools(): Promise<{ name: string }[]>;
  listResources(): Promise<{ uri: string }[]>;
  // biome-ignore lint/suspicious/noExplicitAny: results have every shape
  callTool(name: string, args?: object, options?: { onTaskUpdate?: (task: object) => void }): Promise<any>;
  readResource(uri: string): Promise<{ contents: { text: string }[] }>;
  ping(): Promise<object>;
  close(): Promise<void>;
  getServerInfo(): { name: string };
  getCapabilities(): object;
  getInstructions(): string;
}

/** The module as a page gets it: what the router serves, imported from its text. */
async function importServed(t: TestContext): Promise<(url: string, options?: object) => BrowserClient> {
  const router = await startTestRouter(t, []);
  const served = await post(router, undefined, { method: 'GET', path: '/MCPBrowserClient.js' });
  assert.equal(served.status, 200);
  assert.match(String(served.headers['content-type']), /^text\/javascript/);
  assert.equal(served.headers['cache-control'], 'public, max-age=300');
  const module = await import(`data:text/javascript,${encodeURIComponent(served.text)}`);
  return module.createAgentClient;
}

test('the browser client lists, calls and reads through the router', limits, async (t) => {
  const createAgentClient = await importServed(t);
  const router = await startTestRouter(t, [{ name: 'demo', resources: [{ uri: 'text://x', name: 'x' }] }]);
  const base = await router.listen();
  for (const path of ['/mcp', '/mcps/demo/mcp']) {
    const client = createAgentClient(base + path);
    await client.connect();
    assert.equal(typeof client.getServerInfo().name, 'string');
    assert.ok(client.getCapabilities());
    assert.deepEqual(
      (await client.listTools()).map((tool) => tool.name),
      ['echo', 'whoami', 'count'],
    );
    assert.equal((await client.callTool('echo', { text: 'hi' })).content[0].text, 'demo: hi');
    assert.equal((await client.listResources())[0]?.uri, 'text://x');
    assert.equal((await client.readResource('text://x')).contents[0]?.text, 'demo reads text://x');
    assert.deepEqual(await client.ping(), {});
    await client.close();
  }
});

test('a session that was ended behind its back is opened again', limits, async (t) => {
  const createAgentClient = await importServed(t);
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const base = await router.listen();
  const ids: string[] = [];
  const fetchBefore = globalThis.fetch;
  globalThis.fetch = async (url, init) => {
    const answer = await fetchBefore(url, init);
    ids.push(answer.headers.get('mcp-session-id') ?? '');
    return answer;
  };
  t.after(() => {
    globalThis.fetch = fetchBefore;
  });
  const client = createAgentClient(`${base}/mcp`);
  await client.ping();
  await post(router, undefined, { method: 'DELETE', headers: { 'mcp-session-id': ids[0] ?? '' } });
  assert.deepEqual(await client.ping(), {});
  await openSession(router);
});

/** Answers as an agent with a queued tool does. */
async function queueServer(t: TestContext, statuses: object[]): Promise<string> {
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    response.setHeader('content-type', 'application/json');
    if (request.url?.startsWith('/mcps/demo/task?taskId=t1')) {
      const task = statuses.length > 1 ? statuses.shift() : statuses[0];
      response
        .writeHead(task === undefined ? 404 : 200)
        .end(JSON.stringify(task === undefined ? { error: 'task not found' } : { task }));
      return;
    }
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const { id, method } = JSON.parse(body);
      if (id === undefined) return response.writeHead(202).end();
      const queued = {
        content: [{ type: 'text', text: 'queued' }],
        metadata: { agent: 'demo', taskId: 't1', toolName: 'slow', status: 'pending' },
      };
      const result =
        method === 'tools/call'
          ? queued
          : { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'q', version: '1' } };
      response.setHeader('mcp-session-id', 's');
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcps/demo/mcp`;
}

const task = (status: string, more: object = {}) => ({
  id: 't1',
  toolName: 'slow',
  status,
  createdAt: 'c',
  updatedAt: 'u',
  logSeq: 0,
  ...more,
});

test('a queued tool is waited for, with news of its progress', limits, async (t) => {
  const createAgentClient = await importServed(t);
  const done = task('completed', {
    logSeq: 2,
    result: { content: [{ type: 'text', text: 'done' }], metadata: { agent: 'demo' } },
  });
  const url = await queueServer(t, [
    task('pending'),
    task('running', { logSeq: 1 }),
    task('running', { logSeq: 1 }),
    done,
  ]);
  const seen: object[] = [];
  const client = createAgentClient(url, { taskPollIntervalMs: 5 });
  const result = await client.callTool('slow', {}, { onTaskUpdate: (news) => seen.push(news) });
  assert.deepEqual(result.content, [{ type: 'text', text: 'done' }]);
  assert.deepEqual(result.metadata, {
    agent: 'demo',
    taskId: 't1',
    toolName: 'slow',
    status: 'completed',
    createdAt: 'c',
    updatedAt: 'u',
  });
  assert.equal(seen.length, 3);
});

test('a queued tool that fails rejects with its task, one that vanished rejects too', limits, async (t) => {
  const createAgentClient = await importServed(t);
  const failed = createAgentClient(await queueServer(t, [task('failed', { error: 'broken' })]), {
    taskPollIntervalMs: 5,
  });
  await assert.rejects(
    failed.callTool('slow'),
    (error: Error & { task?: object }) => error.message === 'broken' && error.task !== undefined,
  );
  const gone = createAgentClient(await queueServer(t, []), { taskPollIntervalMs: 5 });
  await assert.rejects(gone.callTool('slow'), /task not found/);
});
