import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RouteSpecInput } from '#api/route.ts';
import { routeNamed } from '#routing/testing.ts';
import { agentOf, startTestRouter, type TestRouter } from '../../testing/harness.ts';
import { openSession, post, request, stateless } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };
const path = '/team/mcp';
const regionSchema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };

function tool(name: string, description = '', inputSchema: object = { type: 'object' }) {
  return { name, description, inputSchema };
}

const tools = {
  files: [
    tool('read_file', 'Reads the contents of a file'),
    tool('echo', 'Repeats'),
    tool('secret', 'Hidden'),
    tool('progress', 'Takes a while'),
  ],
  weather: [tool('get_forecast', 'Weather of the next days', regionSchema), tool('echo', 'Repeats too')],
};

async function searchRouter(t: TestContext, mcp: RouteSpecInput['mcp'] = {}): Promise<TestRouter> {
  const router = await startTestRouter(t, [
    { name: 'files', tools: tools.files },
    { name: 'weather', tools: tools.weather },
  ]);
  const optimize = { mode: 'Search', above: 3 } as const;
  const spec = { selector: {}, paths: ['/team'], mcp: { optimize, ...mcp } };
  router.tables.set(
    router.agents.map((agent) => agentOf(agent)),
    [routeNamed('team', spec)],
  );
  return router;
}

/** Calls in the sessions era. */
async function client(router: TestRouter) {
  const headers = await openSession(router, path);
  const send = (method: string, params?: object) => post(router, request(method, params), { path, headers });
  return {
    send,
    call: (name: string, args?: unknown) => send('tools/call', { name, arguments: args }),
  };
}

/** What the agent got last for a call of a tool. */
function lastCall(router: TestRouter, agent: number) {
  const seen = router.agents[agent]?.seen.findLast(({ body }) => body.includes('"tools/call"'));
  assert.ok(seen !== undefined, 'the agent was called');
  return { headers: seen.headers, params: JSON.parse(seen.body).params };
}

test('with more tools than the Route says, clients of both eras see two', limits, async (t) => {
  const router = await searchRouter(t);
  const { send } = await client(router);
  const sessions = (await send('tools/list')).json.result.tools;
  const modern = (await stateless(router, 'tools/list', {}, { path })).json.result;
  for (const listed of [sessions, modern.tools]) {
    assert.deepEqual(
      listed.map(({ name }: { name: string }) => name),
      ['find_tool', 'call_tool'],
    );
    assert.equal(listed[0].annotations.readOnlyHint, true);
    assert.equal(listed[1].annotations, undefined, 'what call_tool does is up to the tool');
    assert.match(listed[0].description, /6 tools .* files, weather/);
  }
  assert.equal(modern.resultType, 'complete');
  const { instructions } = (await stateless(router, 'server/discover', {}, { path })).json.result;
  assert.match(instructions, /find_tool/);
});

test('with as many tools as the Route says, or fewer, clients see them all', limits, async (t) => {
  const router = await searchRouter(t, { optimize: { mode: 'Search', above: 6 } });
  const { send, call } = await client(router);
  assert.equal((await send('tools/list')).json.result.tools.length, 6);
  const late = await call('call_tool', { name: 'read_file', arguments: { text: 'hi' } });
  assert.equal(late.json.result.content[0].text, 'files: hi', 'a client with an older list goes on');
});

test('find_tool gives the names and schemas by which call_tool calls', limits, async (t) => {
  const router = await searchRouter(t, {
    tools: { deny: ['secret'], rename: [{ from: 'read_file', to: 'show' }] },
  });
  const { call } = await client(router);
  const found = (await call('find_tool', { query: 'the contents of a file' })).json.result;
  const [first] = found.structuredContent.tools;
  assert.deepEqual([first.agent, first.name, first.inputSchema], ['files', 'show', { type: 'object' }]);
  assert.deepEqual(JSON.parse(found.content[0].text), found.structuredContent);
  assert.equal(
    (await call('call_tool', { name: first.name, arguments: { text: 'x' } })).json.result.content[0].text,
    'files: x',
  );
  assert.deepEqual(lastCall(router, 0).params, { name: 'read_file', arguments: { text: 'x' } });
  assert.equal(
    (await call('show', { text: 'y' })).json.result.content[0].text,
    'files: y',
    'by name as well',
  );

  const hidden = (await call('find_tool', { query: 'hidden secret' })).json.result.structuredContent;
  assert.deepEqual(hidden.tools, []);
  const clash = (await call('find_tool', { query: 'echo', agent: 'weather' })).json.result.structuredContent;
  assert.deepEqual(
    clash.tools.map(({ name }: { name: string }) => name),
    ['weather_echo'],
  );
});

const mistakes: Record<string, { args: unknown; says: RegExp }> = {
  'a name that nobody has': { args: { name: 'read_fil' }, says: /Nearest names: read_file/ },
  'a name that several have': { args: { name: 'echo' }, says: /Nearest names: files_echo, weather_echo/ },
  'a filtered tool': { args: { name: 'secret' }, says: /No tool has the name "secret"/ },
  'no name': { args: {}, says: /"name" must be/ },
  'arguments as text': {
    args: { name: 'read_file', arguments: '{}' },
    says: /must be an object .* a string/,
  },
  'arguments as a list': {
    args: { name: 'read_file', arguments: [] },
    says: /must be an object .* an array/,
  },
  itself: { args: { name: 'call_tool', arguments: { name: 'read_file' } }, says: /No tool has the name/ },
};

for (const [what, { args, says }] of Object.entries(mistakes)) {
  test(`call_tool with ${what} is a tool error that a model can mend`, limits, async (t) => {
    const router = await searchRouter(t, { tools: { deny: ['secret'] } });
    const { result } = (await (await client(router)).call('call_tool', args)).json;
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, says);
  });
}

test('find_tool says what is wrong with its arguments', limits, async (t) => {
  const { call } = await client(await searchRouter(t));
  for (const args of [{}, { query: 3 }, { query: 'x', limit: 0 }, { query: 'x', agent: 'nobody' }]) {
    const { result } = (await call('find_tool', args)).json;
    assert.equal(result.isError, true, JSON.stringify(args));
  }
});

test('an answer of a tool called by call_tool is that of a direct call, byte for byte', limits, async (t) => {
  const router = await searchRouter(t);
  const { send } = await client(router);
  const meta = { progressToken: 'p' };
  const direct = await send('tools/call', { name: 'progress', arguments: {}, _meta: meta });
  const inner = { name: 'progress', arguments: {} };
  const called = await send('tools/call', { name: 'call_tool', arguments: inner, _meta: meta });
  assert.equal(called.text, direct.text);
  assert.match(called.text, /notifications\/progress/);
  assert.deepEqual(lastCall(router, 0).params, { name: 'progress', arguments: {}, _meta: meta });
});

test('headers of 2026-07-28 are checked outside and made anew inside', limits, async (t) => {
  const router = await searchRouter(t);
  const params = { name: 'call_tool', arguments: { name: 'get_forecast', arguments: { region: 'eu' } } };
  const wrong = { headers: { 'mcp-name': 'get_forecast' }, path };
  assert.equal((await stateless(router, 'tools/call', params, wrong)).json.error.code, -32020);
  const sent = { headers: { 'mcp-param-region': 'us', 'mcp-param-more': '1' }, path };
  const answer = await stateless(router, 'tools/call', { ...params, requestState: 's' }, sent);
  assert.equal(answer.json.result.resultType, 'complete');
  const { headers, params: got } = lastCall(router, 1);
  assert.equal(headers['mcp-name'], 'get_forecast');
  assert.equal(headers['mcp-param-region'], 'eu');
  assert.equal(headers['mcp-param-more'], undefined);
  assert.deepEqual([got.name, got.arguments, got.requestState], ['get_forecast', { region: 'eu' }, 's']);
});

test('a Route that turns search on tells the clients that listen', limits, async (t) => {
  const router = await searchRouter(t, { optimize: { mode: 'None' } });
  const base = await router.listen();
  const { send } = await client(router);
  assert.equal((await send('tools/list')).json.result.tools.length, 6);
  const abort = new AbortController();
  t.after(() => abort.abort());
  const headers = { ...(await openSession(router, path)), accept: 'text/event-stream' };
  const stream = await fetch(`${base}${path}`, { headers, signal: abort.signal });
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  router.tables.set(
    router.agents.map((agent) => agentOf(agent)),
    [routeNamed('team', { selector: {}, paths: ['/team'], mcp: { optimize: { mode: 'Search' } } })],
  );
  let heard = '';
  while (!heard.includes('notifications/tools/list_changed')) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
    assert.ok(!done, `the stream ended after ${heard}`);
    heard += value;
  }
  assert.equal((await send('tools/list')).json.result.tools.length, 2);
});
