import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { type TestServer, testServer } from '#agent-server/testing/harness.ts';
import { metaKeys, tasksExtension } from '#mcp/eras.ts';
import { nameHeaderOf } from '#mcp/headers.ts';
import { editableTables, master } from '#router/testing/harness.ts';
import { agentNamed } from '#routing/testing.ts';
import { checkout } from '#test/fixtures/workspace/workspace.ts';
import { deriveAgentKey } from '#wire/keys.ts';
import { startRouter } from './task-places.ts';

// Tasks through routers and agent-servers as they are, before servers of either era: an SDK's client of 2025-11-25,
// and requests of 2026-07-28.

const timeout = 90_000;
const fixtures = join(checkout, 'test/fixtures/tasks-server');

async function startUpstream(t: TestContext, file: string): Promise<number> {
  const args = [join(fixtures, file), '--http'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  const [line] = (await once(createInterface(child.stdout), 'line', { signal: t.signal })) as [string];
  return Number(/listens on (\d+)/.exec(line)?.[1]);
}

interface AgentPlace {
  readonly name: string;
  readonly port: number;
  readonly instance?: string;
}

/** An agent-server as a controller would start it. */
function startAgent(t: TestContext, { name, port, instance = `${name}-1` }: AgentPlace): Promise<TestServer> {
  const identity = { namespace: 'default', name, uid: `uid-${name}` };
  const { kid, secret } = deriveAgentKey(master, identity);
  return testServer(
    t,
    {
      agent: { ...identity, instance, principal: `agent:default/${name}` },
      keys: [{ kid, secret: secret.toString('base64url') }],
      mcp: { upstream: { port } },
    },
    { withoutTokens: false },
  );
}

function agentAt(name: string, servers: Readonly<Record<string, TestServer>>) {
  const endpoints = Object.entries(servers).map(([uid, { url }]) => ({
    ...{ name, uid, ready: true, terminating: false },
    address: url.replace('http://', ''),
  }));
  return agentNamed(name, { uid: `uid-${name}`, status: { endpoints, toolsDigest: 'd', conditions: [] } });
}

/** A request of 2026-07-28 of a client that takes tasks. */
async function ask(url: string, method: string, params: Record<string, unknown>, capabilities = {}) {
  const _meta = {
    [metaKeys.protocolVersion]: '2026-07-28',
    [metaKeys.clientCapabilities]: { extensions: { [tasksExtension]: {} }, ...capabilities },
  };
  const message = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } } as const;
  const headers = {
    ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
    'mcp-name': nameHeaderOf(message) ?? '',
  };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) });
  const { result = {}, error } = (await answer.json()) as {
    result?: Record<string, unknown>;
    error?: { code: number };
  };
  return { ...result, code: error?.code } as Record<string, unknown>;
}

async function untilDone(url: string, taskId: unknown): Promise<Record<string, unknown>> {
  for (;;) {
    const state = await ask(url, 'tasks/get', { taskId });
    if (state['status'] === 'completed') return state;
    assert.equal(state['status'], 'working', JSON.stringify(state));
    await sleep(50);
  }
}

test('a task goes on at another router, after a restart of its agent-server, and at its own replica', {
  timeout,
}, async (t) => {
  const port = await startUpstream(t, 'stateless-server.ts');
  const other = await startUpstream(t, 'stateless-server.ts');
  const [one, two] = await Promise.all([
    startAgent(t, { name: 'modern', port, instance: 'm-1' }),
    startAgent(t, { name: 'modern', port: other, instance: 'm-2' }),
  ]);
  const old = await startAgent(t, { name: 'old', port: await startUpstream(t, 'sessions-server.mjs') });
  const tables = editableTables();
  const set = (modern: Record<string, TestServer>) =>
    tables.set([agentAt('modern', modern), agentAt('old', { 'old-1': old })]);
  set({ 'm-1': one, 'm-2': two });
  const [first, second] = await Promise.all([startRouter(t, tables), startRouter(t, tables)]);
  for (const path of ['/mcp', '/mcps/modern/mcp']) {
    const name = path === '/mcp' ? 'modern_wait' : 'wait';
    const places = new Set<string | undefined>();
    // Calls without a session go to one replica or the other, as it comes.
    for (let calls = 0; places.size < 2 && calls < 64; calls += 1) {
      const { taskId } = await ask(`${first}${path}`, 'tools/call', { name, arguments: { ms: 1 } });
      const done = await untilDone(`${second}${path}`, taskId);
      assert.equal(done['taskId'], taskId);
      assert.deepEqual(done['result'], { content: [{ type: 'text', text: 'waited' }] });
      places.add(/m-[12]/.exec(String(taskId))?.[0]);
    }
    assert.deepEqual([...places].sort(), ['m-1', 'm-2']);
  }
  const { taskId } = await ask(`${first}/mcp`, 'tools/call', { name: 'modern_wait', arguments: { ms: 1 } });
  await Promise.all([one.server.close(), two.server.close()]);
  const [again, alsoAgain] = await Promise.all([
    startAgent(t, { name: 'modern', port, instance: 'm-1' }),
    startAgent(t, { name: 'modern', port: other, instance: 'm-2' }),
  ]);
  set({ 'm-1': again, 'm-2': alsoAgain });
  assert.equal((await untilDone(`${await startRouter(t, tables)}/mcp`, taskId))['taskId'], taskId);
  const foreign = await ask(`${second}/mcp`, 'tasks/get', {
    taskId: String(taskId).replace('modern', 'old'),
  });
  assert.equal(foreign['code'], -32_602);
});

for (const [path, prefix] of [
  ['/mcps/old/mcp', ''],
  ['/mcp', 'old_'],
] as const) {
  test(`the official client of 2025-11-25 has tasks at ${path}`, { timeout }, async (t) => {
    const old = await startAgent(t, { name: 'old', port: await startUpstream(t, 'sessions-server.mjs') });
    const modern = await startAgent(t, {
      name: 'modern',
      port: await startUpstream(t, 'stateless-server.ts'),
    });
    const agents = [agentAt('old', { 'old-1': old }), agentAt('modern', { 'modern-1': modern })];
    const router = await startRouter(t, editableTables(agents));
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, async () => ({
      action: 'accept',
      content: { name: 'Ana' },
    }));
    await client.connect(new StreamableHTTPClientTransport(new URL(`${router}${path}`)) as never);
    t.after(() => client.close());
    assert.ok(client.getServerCapabilities()?.tasks?.requests?.tools?.call);
    await client.listTools();
    const params = { name: `${prefix}meet`, arguments: {} };
    const seen: string[] = [];
    let text: unknown;
    const stream = client.experimental.tasks.callToolStream(params, CallToolResultSchema, {
      task: { ttl: 60_000 },
    });
    for await (const message of stream) {
      seen.push(message.type);
      if (message.type === 'error') throw message.error;
      if (message.type === 'result') text = message.result.content[0];
    }
    assert.equal(seen[0], 'taskCreated');
    assert.deepEqual(text, { type: 'text', text: 'Hello, Ana!' });
    // A tool of a server of 2026-07-28 that is a task there is a call here.
    if (prefix === '') return;
    const waited = await client.callTool({ name: 'modern_wait', arguments: { ms: 50 } });
    assert.deepEqual(waited.content, [{ type: 'text', text: 'waited' }]);
  });
}

test('a client of 2026-07-28 has tasks of a server of 2025-11-25 at /mcp, and answers them', {
  timeout,
}, async (t) => {
  const old = await startAgent(t, { name: 'old', port: await startUpstream(t, 'sessions-server.mjs') });
  const modern = await startAgent(t, { name: 'modern', port: await startUpstream(t, 'stateless-server.ts') });
  const agents = [agentAt('old', { 'old-1': old }), agentAt('modern', { 'modern-1': modern })];
  const url = `${await startRouter(t, editableTables(agents))}/mcp`;
  const can = { elicitation: {} };
  const { taskId } = await ask(url, 'tools/call', { name: 'old_meet', arguments: {} }, can);
  let asking: Record<string, unknown>;
  do asking = await ask(url, 'tasks/get', { taskId }, can);
  while (asking['status'] === 'working');
  const [key = ''] = Object.keys(asking['inputRequests'] ?? {});
  const inputResponses = { [key]: { action: 'accept', content: { name: 'Ana' } } };
  await ask(url, 'tasks/update', { taskId, inputResponses }, can);
  const done = await untilDone(url, taskId);
  assert.deepEqual(done['result'], { content: [{ type: 'text', text: 'Hello, Ana!' }] });
  await ask(url, 'resources/list', {});
  const linked = await ask(url, 'tools/call', { name: 'old_link', arguments: {} }, can);
  const { result } = (await untilDone(url, linked['taskId'])) as { result: { content: { uri: string }[] } };
  assert.equal(result.content[0]?.uri, 'ploinky://old/test://report');
});
