import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { accept, type Params, statelessClient } from '#agent-server/bridge/testing.ts';
import { taskTools } from '#agent-server/tasks/testing.ts';
import { type TestServer, temporaryFolder } from '#agent-server/testing/harness.ts';
import { tasksExtension } from '#mcp/eras.ts';
import { editableTables } from '#router/testing/harness.ts';
import { agentNamed } from '#routing/testing.ts';
import { startReplica, startRouter } from './task-places.ts';

// Clients of every kind before routers and agents whose tools are commands that become tasks.

const limits = { timeout: 90_000 };
const places = ['/mcps/tasks', ''] as const;

async function startPlace(t: TestContext): Promise<string> {
  const pod = { uid: 'pod-1', slot: 0 };
  const { address } = await startReplica(t, await temporaryFolder(t), pod, taskTools);
  const endpoint = { name: 'tasks-0-5f2ab', uid: pod.uid, address, ready: true, terminating: false };
  const status = { endpoints: [endpoint], toolsDigest: 'd', conditions: [] };
  return startRouter(t, editableTables([agentNamed('tasks', { uid: 'uid-tasks', status })]));
}

interface PageClient {
  callTool(
    name: string,
    args?: object,
    options?: { onTaskUpdate?: (task: Params) => void },
  ): Promise<{ content: unknown; metadata: Params }>;
  close(): Promise<void>;
}

/** The module as a page gets it from the router. */
async function pageClient(router: string, path: string): Promise<PageClient> {
  const served = await (await fetch(`${router}/MCPBrowserClient.js`)).text();
  const module = await import(`data:text/javascript,${encodeURIComponent(served)}`);
  return module.createAgentClient(`${router}${path}`, { taskPollIntervalMs: 100 });
}

const endpointAt = (url: string) => ({ url }) as TestServer;

for (const place of places) {
  test(`a client of 2026-07-28 hears at ${place}/mcp how its tasks go on`, limits, async (t) => {
    const url = `${await startPlace(t)}${place}`;
    const client = statelessClient(endpointAt(url), {
      extensions: { [tasksExtension]: {} },
      elicitation: {},
    });
    const { result: begun = {} } = await client.call('meet').next();
    const { taskId } = begun;
    const hear = client.request('subscriptions/listen', { notifications: { taskIds: [taskId] } });
    const heard: unknown[] = [];
    for await (const { method, params = {} } of hear) {
      heard.push(method === 'notifications/tasks' ? params['status'] : method);
      if (method !== 'notifications/tasks') {
        const { result = {} } = await client.request('tasks/get', { taskId }).next();
        const [key] = Object.keys((result['inputRequests'] ?? {}) as object);
        if (key !== undefined) await answer(key);
        continue;
      }
      assert.equal(params['taskId'], taskId);
      const [key] = Object.keys((params['inputRequests'] ?? {}) as object);
      if (key !== undefined) await answer(key);
      if (params['status'] !== 'completed') continue;
      assert.match(JSON.stringify((params['result'] as Params)['content']), /inputResponses/);
      break;
    }
    async function answer(key: string): Promise<void> {
      const inputResponses = { [key]: accept('name', 'Ana') };
      await client.request('tasks/update', { taskId, inputResponses }).next();
    }
    assert.equal(heard[0], 'notifications/subscriptions/acknowledged');
    assert.equal(heard.at(-1), 'completed');
    assert.ok(heard.includes('working'), String(heard));
  });

  test(
    `the official client of 2025-11-25 has tasks of commands at ${place}/mcp, and answers them`,
    limits,
    async (t) => {
      const url = `${await startPlace(t)}${place}/mcp`;
      const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
      client.setRequestHandler(ElicitRequestSchema, async () => accept('name', 'Ana') as never);
      await client.connect(new StreamableHTTPClientTransport(new URL(url)) as never);
      t.after(() => client.close());
      assert.ok(client.getServerCapabilities()?.tasks?.requests?.tools?.call);
      await client.listTools();
      const stream = client.experimental.tasks.callToolStream(
        { name: 'meet', arguments: {} },
        CallToolResultSchema,
        { task: { ttl: 60_000 } },
      );
      const seen: string[] = [];
      let told = '';
      for await (const message of stream) {
        seen.push(message.type);
        if (message.type === 'error') throw message.error;
        if (message.type === 'result') told = JSON.stringify(message.result.content);
      }
      assert.deepEqual([seen[0], seen.at(-1)], ['taskCreated', 'result']);
      assert.match(told, /inputResponses/);
      // And a command that is no task asks on its call.
      const met = await client.callTool({ name: 'meet-now', arguments: {} });
      assert.match(JSON.stringify(met.content), /inputResponses/);
    },
  );

  test(
    `the client of pages waits at ${place}/mcp for what was queued, and for a call that became long`,
    limits,
    async (t) => {
      const client = await pageClient(await startPlace(t), `${place}/mcp`);
      t.after(() => client.close());
      const queued = await client.callTool('queued');
      assert.deepEqual(queued.content, [{ type: 'text', text: 'queued\n' }]);
      assert.equal(queued.metadata['status'], 'completed');
      const updates: Params[] = [];
      const long = await client.callTool('long', {}, { onTaskUpdate: (task) => updates.push(task) });
      assert.deepEqual(long.content, [{ type: 'text', text: 'early\nlong\n' }]);
      const running = updates.find(({ status }) => status === 'running');
      assert.deepEqual(running?.['progress'], { progress: 1, total: 2, message: 'half' });
      await assert.rejects(client.callTool('queued-asks'), (error: Error & { task?: Params }) => {
        assert.match(error.message, /cannot answer/);
        return error.task?.['status'] === 'failed';
      });
    },
  );
}
