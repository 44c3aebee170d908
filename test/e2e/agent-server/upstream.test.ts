import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  eventually,
  openSession,
  type TestServer,
  testPath,
  testServer,
  toolCall,
} from '#agent-server/testing/harness.ts';
import { metaKeys } from '#mcp/eras.ts';

const timeout = 120_000;
const fixture = (name: string) =>
  fileURLToPath(new URL(`../../fixtures/mcp-servers/${name}`, import.meta.url));
const sdkServer = [process.execPath, fixture('sdk-server.mjs')];
const statelessServer = [process.execPath, fixture('stateless-server.mjs')];

type Call = (name: string, args?: object, more?: object) => ReturnType<TestServer['post']>;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The same upstream reached in each way that it can be. */
const ways: Record<
  string,
  () => Promise<{ mcp: Record<string, unknown>; command?: string[]; env?: Record<string, string> }>
> = {
  stdio: async () => ({ mcp: { upstream: { stdio: sdkServer } } }),
  'HTTP with sessions': () => overHttp([...sdkServer, '--http']),
  'stateless HTTP': () => overHttp([...sdkServer, '--http', '--stateless']),
};

async function overHttp(command: string[]) {
  const port = await freePort();
  return { mcp: { upstream: { port } }, command, env: { PATH: testPath, PORT: String(port) } };
}

async function start(
  t: TestContext,
  way: keyof typeof ways,
): Promise<{ server: TestServer; call: Call; session: Record<string, string> }> {
  const server = await testServer(t, await ways[way]?.());
  await eventually('the upstream is there', () => ready(server), 60_000);
  const session = { 'mcp-session-id': await openSession(server) };
  const call: Call = (name, args = {}, more = {}) =>
    server.post({ ...toolCall(name, args), params: { name, arguments: args, ...more } }, session);
  return { server, call, session };
}

async function ready(server: TestServer): Promise<boolean> {
  const response = await fetch(`${server.url}/changes`);
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('"state"')) break;
  }
  return text.includes('"ready":true');
}

/** Undefined for an error. */
const textOf = ({ json }: Awaited<ReturnType<Call>>): string | undefined =>
  (json.result as typeof json.result | undefined)?.content[0]?.text;

for (const way of Object.keys(ways)) {
  test(`${way}: tools, resources, prompts and completions of an upstream pass through`, {
    timeout,
  }, async (t) => {
    const { server, call, session } = await start(t, way);
    const ask = async (method: string, params = {}) =>
      (await server.post({ jsonrpc: '2.0', id: 1, method, params }, session)).json;
    const tools = (await ask('tools/list')).result.tools;
    assert.deepEqual(tools.find((tool) => tool.name === 'add')?.['description' as never], 'adds');
    assert.equal(textOf(await call('add', { a: 2, b: 40 })), '42');
    const wrong = await call('add', { a: 'x' });
    assert.equal(wrong.json.result['isError'], true);
    assert.deepEqual((await ask('resources/read', { uri: 'fix://static' })).result.contents, [
      { uri: 'fix://static', text: 'static' },
    ]);
    assert.equal((await ask('resources/read', { uri: 'fix://item/7' })).result.contents[0]?.text, 'item 7');
    assert.match(JSON.stringify((await ask('resources/templates/list')).result), /fix:\/\/item\/\{id\}/);
    assert.match(
      JSON.stringify((await ask('prompts/get', { name: 'hello', arguments: { who: 'you' } })).result),
      /Hello you/,
    );
    const completed = await ask('completion/complete', {
      ref: { type: 'ref/resource', uri: 'fix://item/{id}' },
      argument: { name: 'id', value: '' },
    });
    assert.deepEqual((completed.result['completion'] as { values: unknown }).values, ['1', '2']);
    assert.ok((await ask('prompts/get', { name: 'nope' })).error.code < 0);
  });

  test(`${way}: progress and logs reach the call that they belong to`, { timeout }, async (t) => {
    const { call } = await start(t, way);
    const answer = await call('steps', {}, { _meta: { progressToken: 'mine' } });
    const events = [...answer.text.matchAll(/^data: (.+)$/gm)].map((match) => JSON.parse(match[1] ?? ''));
    const progress = events
      .filter((event) => event.method === 'notifications/progress')
      .map((event) => event.params);
    assert.deepEqual(
      progress,
      [1, 2, 3].map((n) => ({ progressToken: 'mine', progress: n, total: 3 })),
    );
    assert.equal(events.filter((event) => event.method === 'notifications/message').length, 3);
    assert.equal(textOf(answer), 'done');
  });

  test(`${way}: a crash fails the calls in flight, and the next call finds a fresh server`, {
    timeout,
  }, async (t) => {
    const { call } = await start(t, way);
    const before = textOf(await call('pid'));
    const hanging = call('hang');
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.match((await call('crash')).json.error.message, /MCP server/);
    assert.match((await hanging).json.error.message, /MCP server/);
    await eventually('a call works again', async () => /^\d+$/.test(textOf(await call('pid')) ?? ''), 30_000);
    assert.notEqual(textOf(await call('pid')), before);
  });

  test(`${way}: a client of 2026-07-28 is served as well`, { timeout }, async (t) => {
    const { server } = await start(t, way);
    const _meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {} };
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'add', arguments: { a: 1, b: 1 }, _meta },
    };
    const answer = await server.post(message, {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'add',
    });
    assert.deepEqual([answer.json.result['resultType'], textOf(answer)], ['complete', '2']);
  });
}

for (const way of ['stdio', 'HTTP with sessions'] as const) {
  test(`${way}: a tool that comes later is listed`, { timeout }, async (t) => {
    const { server, call, session } = await start(t, way);
    await call('grow');
    const names = async () =>
      (await server.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, session)).json.result.tools.map(
        (tool) => tool.name,
      );
    if (way === 'stdio') await eventually('it is listed', async () => (await names()).includes('grown'));
    else assert.ok((await names()).length > 0);
  });
}

test('a cancelled call is cancelled upstream and answered at once', { timeout }, async (t) => {
  const { server, session } = await start(t, 'stdio');
  const call = server.post(toolCall('until-cancelled', {}, 'c'), session);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await server.post(
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } },
    session,
  );
  assert.match((await call).json.error.message, /cancelled/);
});

test('a forgotten HTTP session is opened again without the client noticing', { timeout }, async (t) => {
  const { call } = await start(t, 'HTTP with sessions');
  await call('forget');
  assert.equal(textOf(await call('add', { a: 1, b: 2 })), '3');
});

test('a large answer passes; one over the limit fails its call, and the next call finds a fresh server', {
  timeout,
}, async (t) => {
  const server = await testServer(t, {
    mcp: { upstream: { stdio: sdkServer } },
    limits: { maxUpstreamMessageBytes: 1_000_000 },
  });
  const session = { 'mcp-session-id': await openSession(server) };
  assert.equal(textOf(await server.post(toolCall('big', { bytes: 900_000 }), session))?.length, 900_000);
  const tooLarge = await server.post(toolCall('big', { bytes: 1_100_000 }), session);
  assert.match(tooLarge.json.error.message, /larger than 1000000 bytes/);
  assert.equal(textOf(await server.post(toolCall('add', { a: 1, b: 2 }), session)), '3');
});

test('a server that cannot start is told in the state, and calls fail with the reason', {
  timeout,
}, async (t) => {
  const server = await testServer(t, { mcp: { upstream: { stdio: ['/nope/server'] } } });
  assert.equal(await ready(server), false);
  const session = { 'mcp-session-id': await openSession(server) };
  assert.match(
    (await server.post(toolCall('x'), session)).json.error.message,
    /cannot be started: spawn \/nope\/server ENOENT/,
  );
});

const stateless: Record<
  string,
  () => Promise<{ mcp: Record<string, unknown>; command?: string[]; env?: Record<string, string> }>
> = {
  stdio: async () => ({ mcp: { upstream: { stdio: [...statelessServer, '--stdio'] } } }),
  HTTP: () => overHttp(statelessServer),
};
for (const [way, make] of Object.entries(stateless)) {
  test(`a server that speaks only 2026-07-28 over ${way} serves clients of both eras`, {
    timeout,
  }, async (t) => {
    const server = await testServer(t, await make());
    await eventually('the upstream is there', () => ready(server), 60_000);
    const session = { 'mcp-session-id': await openSession(server) };
    const old = await server.post(toolCall('shout', { text: 'a' }), session);
    assert.equal(textOf(old), 'A');
    assert.equal(old.json.result['resultType'], undefined);
    const _meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {} };
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'shout', arguments: { text: 'b' }, _meta },
    };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'shout' };
    assert.equal(textOf(await server.post(message, headers)), 'B');
  });
}
