import assert from 'node:assert/strict';
import { chmod, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { eventually, type TestServer, temporaryFolder, testServer } from '#agent-server/testing/harness.ts';

const timeout = 60_000;

const definition = {
  tools: [
    {
      name: 'greet',
      description: 'Greets',
      command: 'sed "s/.*who.:.\\([a-z]*\\).*/Hello \\1/"',
      inputSchema: { who: 'string' },
    },
    {
      name: 'steps',
      command: 'for i in 1 2 3; do echo "{\\"progress\\":$i,\\"total\\":3}" >&3; done; echo done',
    },
    { name: 'sleeps', command: 'sleep 30' },
  ],
  resources: [{ name: 'fact', uri: 'fact://one', command: 'echo one' }],
  prompts: [{ name: 'ask', messages: [{ role: 'user', content: 'Ask ${what}' }] }],
};

async function start(t: TestContext): Promise<TestServer> {
  const code = await temporaryFolder(t);
  await writeFile(join(code, 'mcp-config.json'), JSON.stringify(definition));
  return testServer(t, { code, limits: { configPollMs: 50 } });
}

async function addTool(code: string): Promise<void> {
  const tools = [...definition.tools, { name: 'added', command: 'true' }];
  await writeFile(join(code, 'next'), JSON.stringify({ ...definition, tools }));
  await chmod(join(code, 'next'), 0o644);
  await rename(join(code, 'next'), join(code, 'mcp-config.json'));
}

test('the official client of the sessions era: lists, calls, progress, cancel, list_changed, end', {
  timeout,
}, async (t) => {
  const server = await start(t);
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`));
  await client.connect(transport as never);
  t.after(() => client.close());
  assert.equal(client.getServerVersion()?.name, 'ploinky-agent-mcp');
  assert.deepEqual(
    (await client.listTools()).tools.map((tool) => tool.name),
    ['greet', 'steps', 'sleeps'],
  );
  const greeted = await client.callTool({ name: 'greet', arguments: { who: 'ada' } });
  assert.deepEqual(greeted.content, [{ type: 'text', text: 'Hello ada\n' }]);
  await assert.rejects(
    client.callTool({ name: 'greet', arguments: {} }),
    /-32602: Invalid arguments for tool greet/,
  );
  const progress: unknown[] = [];
  await client.callTool({ name: 'steps', arguments: {} }, undefined, {
    onprogress: (step) => progress.push(step),
  });
  assert.deepEqual(
    progress,
    [1, 2, 3].map((n) => ({ progress: n, total: 3 })),
  );
  assert.equal((await client.readResource({ uri: 'fact://one' })).contents.length, 1);
  assert.equal((await client.getPrompt({ name: 'ask', arguments: { what: 'x' } })).messages.length, 1);
  const controller = new AbortController();
  const sleeping = client.callTool({ name: 'sleeps', arguments: {} }, undefined, {
    signal: controller.signal,
  });
  setTimeout(() => controller.abort('enough'), 200);
  await assert.rejects(sleeping, /enough/);
  let changed = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changed += 1;
  });
  await addTool(server.code);
  await eventually('the client is told', () => changed === 1);
  assert.equal((await client.listTools()).tools.length, 4);
  await transport.terminateSession();
  await assert.rejects(client.listTools());
});

test('the official client of 2026-07-28: discovers, lists, calls, progress, cancel, list_changed', {
  timeout,
}, async (t) => {
  const server = await start(t);
  let changed = 0;
  const client = new Client2(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: 'auto' }, listChanged: { tools: { onChanged: () => (changed += 1) } } },
  );
  await client.connect(new Transport2(new URL(`${server.url}/mcp`)));
  t.after(() => client.close());
  assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
  assert.deepEqual(
    (await client.listTools()).tools.map((tool) => tool.name),
    ['greet', 'steps', 'sleeps'],
  );
  const greeted = await client.callTool({ name: 'greet', arguments: { who: 'ada' } });
  assert.deepEqual(greeted.content, [{ type: 'text', text: 'Hello ada\n' }]);
  const progress: unknown[] = [];
  await client.callTool({ name: 'steps', arguments: {} }, { onprogress: (step) => progress.push(step) });
  assert.deepEqual(
    progress,
    [1, 2, 3].map((n) => ({ progress: n, total: 3 })),
  );
  assert.equal((await client.readResource({ uri: 'fact://one' })).contents.length, 1);
  assert.equal((await client.getPrompt({ name: 'ask', arguments: { what: 'x' } })).messages.length, 1);
  const controller = new AbortController();
  const sleeping = client.callTool({ name: 'sleeps', arguments: {} }, { signal: controller.signal });
  setTimeout(() => controller.abort('enough'), 200);
  await assert.rejects(sleeping);
  await addTool(server.code);
  await eventually('the client is told', () => changed > 0);
});

test('both clients can use one server at the same time without mixing answers', { timeout }, async (t) => {
  const server = await start(t);
  const url = new URL(`${server.url}/mcp`);
  const old = new Client({ name: 'old', version: '1' });
  const modern = new Client2({ name: 'new', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await old.connect(new StreamableHTTPClientTransport(url) as never);
  await modern.connect(new Transport2(url));
  t.after(() => Promise.all([old.close(), modern.close()]));
  const names = Array.from({ length: 20 }, (_, n) => String.fromCharCode(97 + n).repeat(3));
  const answers = await Promise.all(
    names.map((who, n) => (n % 2 === 0 ? old : modern).callTool({ name: 'greet', arguments: { who } })),
  );
  assert.deepEqual(
    answers.map((answer) => (answer.content as { text: string }[])[0]?.text),
    names.map((who) => `Hello ${who}\n`),
  );
});
