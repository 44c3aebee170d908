import assert from 'node:assert/strict';
import { chmod, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { metaKeys } from '#mcp/eras.ts';
import { bindHttpService, bindMessage, bindStatic, bindTaskStatus, changesBinding } from '#wire/binding.ts';
import { provenKey } from '#wire/challenge.ts';
import {
  eventually,
  openSession,
  type TestServer,
  temporaryFolder,
  testServer,
  tokenFor,
  toolCall,
} from './testing/harness.ts';

const timeout = 60_000;

const tools = {
  tools: [
    { name: 'echo', command: '/bin/cat', inputSchema: { text: 'string' } },
    { name: 'shell', command: 'printf "%s," one "$@"', args: ['two words', 3] },
    { name: 'noisy', command: 'echo out; echo err >&2' },
    { name: 'silent', command: 'true' },
    { name: 'fails', command: 'echo bad news >&2; exit 2' },
    { name: 'fails-in-json', command: 'echo \'{"ok":false,"error":"E_X","message":"explained"}\'; exit 1' },
    { name: 'fails-at-length', command: 'head -c 9000 /dev/zero | tr "\\0" x >&2; exit 1' },
    { name: 'missing', command: 'nope.sh' },
    { name: 'slow', command: 'sleep 30', timeoutMs: 200 },
    { name: 'waits', command: 'sleep 30' },
    { name: 'floods', command: 'yes' },
    { name: 'where', command: 'pwd; echo "$COLOUR $AGENT_NAME"', env: { COLOUR: 'red' } },
    {
      name: 'progress',
      command:
        'echo \'{"progress":1,"total":2}\' >&3; echo \'{"log":{"level":"info","data":"hi"}}\' >&3; echo ok',
    },
    {
      name: 'errs',
      command: 'echo \'{"jsonrpcError":{"code":-32042,"message":"go away","data":{"a":1}}}\' >&3',
    },
    {
      name: 'asks',
      command:
        'echo \'{"inputRequests":{"q":{"method":"elicitation/create","params":{}}},"requestState":"s1"}\' >&3',
    },
    {
      name: 'rich',
      command: 'echo \'{"result":{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}}\' >&3',
    },
    { name: 'structured', command: 'echo \'{"n":1}\'', outputSchema: { type: 'object' } },
    { name: 'later', command: 'echo "task $TASKS"; sed "s/.*taskId.:.\\([0-9a-f]*\\).*/\\1/"', async: true },
    { name: 'later-fails', command: 'sleep 30', async: true, timeout: 200 },
    { name: 'unfinished' },
  ],
  resources: [
    { name: 'static', uri: 'text://one', command: '/bin/cat' },
    { name: 'user', template: 'user://{id}/name', command: '/bin/cat', mimeType: 'application/json' },
    { name: 'broken', uri: 'text://broken', command: 'echo no >&2; exit 1' },
  ],
  prompts: [
    {
      name: 'greet',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'Hi ${who} and ${who}' },
      ],
    },
  ],
};

async function serverWith(
  t: TestContext,
  limits: Record<string, number> = {},
): Promise<{ server: TestServer; call: Call }> {
  const server = await testServer(t, { mcp: tools, limits });
  const session = { 'mcp-session-id': await openSession(server) };
  const call: Call = async (message) => (await server.post(message, session)).json;
  return { server, call };
}
type Call = (message: unknown) => Promise<Awaited<ReturnType<TestServer['post']>>['json']>;
const textOf = (answer: Awaited<ReturnType<Call>>) => answer.result.content.map((item) => item.text);

test('stdout, stderr and exit code become the results of the contract', { timeout }, async (t) => {
  const { call, server } = await serverWith(t, { maxOutputBytes: 100_000 });
  const outcome = async (name: string) => {
    const { result } = await call(toolCall(name));
    return [result.isError === true, ...result.content.map((item) => item.text)];
  };
  assert.deepEqual(await outcome('shell'), [false, 'one,two words,3,']);
  assert.deepEqual(await outcome('noisy'), [false, 'out\n', 'stderr:\nerr\n']);
  assert.deepEqual(await outcome('silent'), [false, '(no output)']);
  assert.deepEqual(await outcome('fails'), [true, 'MCP error -32603: bad news']);
  assert.deepEqual(await outcome('fails-in-json'), [true, 'MCP error -32603: E_X: explained']);
  assert.deepEqual(await outcome('missing'), [true, `spawn ${server.code}/nope.sh ENOENT`]);
  assert.deepEqual(await outcome('slow'), [true, 'MCP error -32603: command timed out after 200ms']);
  assert.deepEqual(await outcome('floods'), [
    true,
    'MCP error -32603: command wrote more than 100000 bytes of output',
  ]);
  assert.deepEqual(await outcome('where'), [false, `${server.code}\nred demo\n`]);
  const [, long] = await outcome('fails-at-length');
  assert.equal(String(long).length, 'MCP error -32603: '.length + 4096 + 3);
  assert.deepEqual((await call(toolCall('silent'))).result.metadata, { agent: 'demo' });
  assert.deepEqual((await call(toolCall('structured'))).result['structuredContent'], { n: 1 });
});

test('a wrong call is a JSON-RPC error that names tool and argument', { timeout }, async (t) => {
  const { call } = await serverWith(t);
  assert.deepEqual((await call(toolCall('nix'))).error, { code: -32602, message: 'Tool nix not found' });
  const { error } = await call(toolCall('echo', { text: 5 }));
  assert.equal(error.code, -32602);
  assert.match(error.message, /^Invalid arguments for tool echo: \[/);
  const [issue] = JSON.parse(error.message.slice('Invalid arguments for tool echo: '.length));
  assert.deepEqual([issue.code, issue.path], ['invalid_type', ['text']]);
  const missing = JSON.parse(
    (await call(toolCall('echo'))).error.message.slice('Invalid arguments for tool echo: '.length),
  );
  assert.deepEqual(missing[0].path, ['text']);
});

test('the envelope on stdin has what agents read, unknown arguments dropped, secrets of the request left out', {
  timeout,
}, async (t) => {
  const server = await testServer(t, { mcp: tools }, { withoutTokens: false });
  const message = toolCall('echo', { text: 'x', junk: 1 });
  const token = tokenFor(bindMessage(message), { session: 's-1', revision: '2025-11-25' });
  const answer = await server.post(message, {
    authorization: `Bearer ${token}`,
    cookie: 'a=b',
    'x-trace': '7',
  });
  const envelope = JSON.parse(textOf(answer.json)[0] ?? '');
  assert.deepEqual([envelope.tool, envelope.input], ['echo', { text: 'x' }]);
  const { metadata } = envelope;
  assert.deepEqual(metadata.signal, {});
  assert.deepEqual([metadata.sessionId, metadata.requestId], ['s-1', 1]);
  assert.equal(metadata.requestInfo.headers['x-trace'], '7');
  assert.deepEqual(
    Object.keys(metadata.requestInfo.headers).filter((name) => /auth|cookie/.test(name)),
    [],
  );
  assert.equal(metadata.invocation.aud, 'agent:default/demo');
  assert.equal(metadata.invocationToken, token);
  assert.deepEqual(metadata.authInfo.user, {
    id: 'u1',
    username: 'u1',
    email: 'u1@example.com',
    roles: ['admin'],
  });
  assert.deepEqual([metadata.authInfo.sessionId, metadata.authInfo.invocationToken], ['s-1', token]);
});

test('tools/list shows JSON Schema made of the field map and leaves out a tool without command', {
  timeout,
}, async (t) => {
  const { call } = await serverWith(t);
  const { tools: listed } = (await call({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).result;
  assert.ok(!listed.some((tool) => tool.name === 'unfinished'));
  assert.deepEqual(listed[0]?.inputSchema, {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
    additionalProperties: false,
  });
});

test('resources are read by address and by template; failures are errors', { timeout }, async (t) => {
  const { call } = await serverWith(t);
  const read = async (uri: string) =>
    call({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } });
  assert.deepEqual((await read('text://one')).result.contents, [
    { uri: 'text://one', mimeType: 'text/plain', text: '{"resource":"static","uri":"text://one"}\n' },
  ]);
  assert.equal(
    (await read('user://a%20b/name')).result.contents[0]?.text,
    '{"resource":"user","uri":"user://a%20b/name","params":{"id":"a b"}}\n',
  );
  assert.deepEqual((await read('text://broken')).error, { code: -32603, message: 'no' });
  assert.equal((await read('text://none')).error.code, -32002);
  const templates = (await call({ jsonrpc: '2.0', id: 1, method: 'resources/templates/list' })).result;
  assert.deepEqual(templates['resourceTemplates'], [
    { uriTemplate: 'user://{id}/name', name: 'user', mimeType: 'application/json' },
  ]);
});

test('prompts fill their placeholders', { timeout }, async (t) => {
  const { call } = await serverWith(t);
  const get = (args: object) =>
    call({ jsonrpc: '2.0', id: 1, method: 'prompts/get', params: { name: 'greet', arguments: args } });
  assert.deepEqual((await get({ who: '${who} $&' })).result['messages'], [
    { role: 'user', content: { type: 'text', text: 'Be kind.' } },
    { role: 'user', content: { type: 'text', text: 'Hi ${who} $& and ${who} $&' } },
  ]);
  assert.match((await get({})).error.message, /Missing arguments for prompt greet: who/);
});

test('a tool speaks on descriptor 3: progress, logs, errors, whole results', { timeout }, async (t) => {
  const { server, call } = await serverWith(t);
  const session = { 'mcp-session-id': await openSession(server) };
  const message = {
    ...toolCall('progress'),
    params: { name: 'progress', arguments: {}, _meta: { progressToken: 'p' } },
  };
  const answer = await server.post(message, session);
  const events = [...answer.text.matchAll(/^data: (.+)$/gm)].map((match) => JSON.parse(match[1] ?? ''));
  assert.match(String(answer.headers['content-type']), /event-stream/);
  assert.deepEqual(events[0].params, { progressToken: 'p', progress: 1, total: 2 });
  assert.deepEqual([events[1].method, events[1].params.data], ['notifications/message', 'hi']);
  assert.deepEqual(events[2].result.content, [{ type: 'text', text: 'ok\n' }]);
  assert.deepEqual((await call(toolCall('errs'))).error, {
    code: -32042,
    message: 'go away',
    data: { a: 1 },
  });
  assert.equal((await call(toolCall('rich'))).result.content[0]?.type, 'image');
});

const stateless = (method: string, params: object = {}, more: Record<string, unknown> = {}) => ({
  message: {
    jsonrpc: '2.0',
    id: 1,
    method,
    params: {
      ...params,
      _meta: { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {}, ...more },
    },
  },
  headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
});

test('a stateless client calls without a session, and its errors have HTTP statuses', {
  timeout,
}, async (t) => {
  const { server } = await serverWith(t);
  const send = (call: ReturnType<typeof stateless>, headers = {}) =>
    server.post(call.message, { ...call.headers, ...headers });
  const named = { 'mcp-name': 'shell' };
  const called = await send(stateless('tools/call', { name: 'shell' }), named);
  assert.equal(called.json.result['resultType'], 'complete');
  const discovered = (await send(stateless('server/discover'))).json.result;
  assert.deepEqual([discovered['supportedVersions'], discovered['cacheScope']], [['2026-07-28'], 'public']);
  const wrongName = await send(stateless('tools/call', { name: 'shell' }), { 'mcp-name': 'other' });
  assert.deepEqual([wrongName.status, wrongName.json.error.code], [400, -32020]);
  const gone = await send(stateless('ping'));
  assert.deepEqual([gone.status, gone.json.error.code], [404, -32601]);
  const lost = await send(stateless('resources/read', { uri: 'x://y' }), { 'mcp-name': 'x://y' });
  assert.deepEqual([lost.status, lost.json.error.code], [200, -32602]);
  const mute = await send(stateless('tools/call', { name: 'asks' }), { 'mcp-name': 'asks' });
  assert.deepEqual([mute.status, mute.json.error.code], [400, -32021]);
  const canAnswer = { [metaKeys.clientCapabilities]: { elicitation: {} } };
  const asked = await send(stateless('tools/call', { name: 'asks' }, canAnswer), { 'mcp-name': 'asks' });
  assert.deepEqual(
    [asked.json.result['resultType'], asked.json.result['requestState']],
    ['input_required', 's1'],
  );
  const answered = await send(
    stateless('tools/call', {
      name: 'echo',
      arguments: { text: 'x' },
      inputResponses: { q: 1 },
      requestState: 's1',
    }),
    { 'mcp-name': 'echo' },
  );
  const envelope = JSON.parse(textOf(answered.json)[0] ?? '');
  assert.deepEqual([envelope.metadata.inputResponses, envelope.metadata.requestState], [{ q: 1 }, 's1']);
});

test('logs go to a stateless client only if it asks for them', { timeout }, async (t) => {
  const { server } = await serverWith(t);
  const count = async (more: Record<string, unknown>) => {
    const call = stateless('tools/call', { name: 'progress' }, more);
    const { text } = await server.post(call.message, { ...call.headers, 'mcp-name': 'progress' });
    return text.split('notifications/message').length - 1;
  };
  assert.deepEqual(
    [
      await count({}),
      await count({ [metaKeys.logLevel]: 'info' }),
      await count({ [metaKeys.logLevel]: 'error' }),
    ],
    [0, 1, 0],
  );
});

test('sessions: none is 400, an unknown one 404, an ended one 404', { timeout }, async (t) => {
  const { server } = await serverWith(t);
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const none = await server.post(list);
  assert.deepEqual(
    [none.status, none.json.id, none.json.error],
    [400, null, { code: -32000, message: 'Missing session; send initialize first' }],
  );
  assert.equal((await server.post(list, { 'mcp-session-id': 'x' })).status, 404);
  const id = await openSession(server);
  assert.equal((await server.post(list, { 'mcp-session-id': id })).status, 200);
  assert.equal((await server.send('DELETE', '/mcp', { 'mcp-session-id': id })).status, 204);
  assert.equal((await server.post(list, { 'mcp-session-id': id })).status, 404);
});

test('notifications/cancelled ends the call it names in its own session only', { timeout }, async (t) => {
  const { server } = await serverWith(t);
  const one = { 'mcp-session-id': await openSession(server) };
  const other = { 'mcp-session-id': await openSession(server) };
  const started = performance.now();
  const call = server.post(toolCall('waits', {}, 'c1'), one);
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c1' } };
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal((await server.post(cancel, other)).status, 202);
  let answered = false;
  void call.then(() => (answered = true));
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(answered, false);
  await server.post(cancel, one);
  assert.match((await call).json.error.message, /cancelled/);
  assert.ok(performance.now() - started < 10_000);
});

test('a call needs a token that fits it; looking does not', { timeout }, async (t) => {
  const server = await testServer(t, { mcp: tools }, { withoutTokens: false });
  const session = { 'mcp-session-id': await openSession(server) };
  const message = toolCall('silent');
  const reason = async (authorization?: string) => {
    const answer = await server.post(message, { ...session, ...(authorization && { authorization }) });
    return textOf(answer.json)[0];
  };
  const rejected = (text: string) => `MCP error -32600: Invocation rejected: ${text}`;
  assert.equal(await reason(), rejected('missing secure wire headers'));
  assert.equal(
    await reason(`Bearer ${tokenFor(bindMessage(toolCall('silent', { a: 1 })))}`),
    rejected('jwtVerify: body hash mismatch'),
  );
  assert.equal(
    await reason(`Bearer ${tokenFor(bindMessage(message), undefined, { instance: 'other' })}`),
    rejected('jwtVerify: workload mismatch'),
  );
  assert.equal(
    await reason(`Bearer ${tokenFor(bindMessage(message), undefined, { now: Date.now() - 200_000 })}`),
    rejected('jwtVerify: token expired'),
  );
  const token = `Bearer ${tokenFor(bindMessage(message))}`;
  assert.equal(await reason(token), '(no output)');
  assert.equal(await reason(token), rejected('jwtVerify: token replayed'));
  const read = await server.post(
    { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'text://one' } },
    session,
  );
  assert.deepEqual(read.json.error, {
    code: -32600,
    message: 'Invocation rejected: missing secure wire headers',
  });
  assert.equal(
    (await server.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, session)).json.result.tools.length,
    19,
  );
  for (const path of ['/changes', '/getTaskStatus?taskId=x', '/api/x', '/static/x.html']) {
    const refused = await server.send('GET', path);
    assert.deepEqual(
      [refused.status, refused.text],
      [401, '{"error":"invocation_rejected","reason":"missing secure wire headers"}'],
      path,
    );
  }
});

test("a router's session lives under its own name and cannot be reached by a header", {
  timeout,
}, async (t) => {
  const server = await testServer(t, { mcp: tools }, { withoutTokens: false });
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const mcp = { session: 'sealed', revision: '2025-11-25', capabilities: {} };
  const auth = () => ({ authorization: `Bearer ${tokenFor(bindMessage(ping), mcp)}` });
  assert.deepEqual((await server.post(ping, auth())).json.result, {});
  for (const id of ['sealed', 'router:sealed']) {
    assert.equal((await server.post(ping, { 'mcp-session-id': id })).status, 404);
  }
});

test('the proof is made with the key, and only for a nonce', { timeout }, async (t) => {
  const server = await testServer(t, { mcp: tools }, { withoutTokens: false });
  const nonce = Buffer.alloc(32, 3).toString('base64url');
  const { json } = await server.send('GET', `/.well-known/ploinky-proof?nonce=${nonce}`);
  const key = { kid: 'test', secret: Buffer.alloc(32, 7) };
  assert.ok(provenKey(json, [key], { instance: 'instance-1', nonce }));
  assert.equal((await server.send('GET', '/.well-known/ploinky-proof?nonce=short')).status, 400);
});

test('an async tool answers with a task id at once, and its status tells the rest', {
  timeout,
}, async (t) => {
  const server = await testServer(t, { mcp: tools }, { withoutTokens: false });
  const start = async (name: string) => {
    const message = toolCall(name);
    const answer = await server.post(message, { authorization: `Bearer ${tokenFor(bindMessage(message))}` });
    assert.match(textOf(answer.json)[0] ?? '', new RegExp(`^Task '${name}' queued with id [0-9a-f]{16}$`));
    return answer.json.result.metadata;
  };
  const status = async (id: unknown) => {
    const authorization = `Bearer ${tokenFor(bindTaskStatus(String(id)))}`;
    return (await server.send('GET', `/getTaskStatus?taskId=${id}`, { authorization })).json.task;
  };
  const queued = await start('later');
  assert.deepEqual([queued['agent'], queued['toolName'], queued['status']], ['demo', 'later', 'pending']);
  await eventually('it is done', async () => (await status(queued['taskId']))['status'] === 'completed');
  const done = await status(queued['taskId']);
  assert.match(JSON.stringify(done['result']), new RegExp(String(queued['taskId'])));
  assert.match(String(done['logTail']), /^task/);
  const failing = await start('later-fails');
  await eventually('it fails', async () => (await status(failing['taskId']))['status'] === 'failed');
  assert.equal((await status(failing['taskId']))['error'], 'Task timed out after 200ms');
  const authorization = `Bearer ${tokenFor(bindTaskStatus('nope'))}`;
  assert.equal((await server.send('GET', '/getTaskStatus?taskId=nope', { authorization })).status, 404);
  assert.equal((await server.send('GET', '/getTaskStatus')).status, 400);
  assert.equal((await server.send('POST', '/getTaskStatus')).headers['allow'], 'GET');
});

test('at most maxParallelTasks run at once, in order of arrival', { timeout }, async (t) => {
  const code = await temporaryFolder(t);
  const command = 'echo "+" >> log; sleep 0.15; echo "-" >> log';
  const server = await testServer(t, {
    code,
    mcp: { tools: [{ name: 'one', command }], maxParallelTasks: 2 },
  });
  const session = { 'mcp-session-id': await openSession(server) };
  await Promise.all(Array.from({ length: 6 }, (_, id) => server.post(toolCall('one', {}, id), session)));
  const { readFile } = await import('node:fs/promises');
  let running = 0;
  let most = 0;
  for (const mark of (await readFile(join(code, 'log'), 'utf8')).trim().split('\n')) {
    running += mark === '+' ? 1 : -1;
    most = Math.max(most, running);
  }
  assert.equal(most, 2);
});

test('the file of tools is read again when it changes; a broken one leaves the last good one in use', {
  timeout,
}, async (t) => {
  const code = await temporaryFolder(t);
  const write = async (text: string) => {
    await writeFile(join(code, 'new'), text);
    await rename(join(code, 'new'), join(code, 'mcp-config.json'));
  };
  await write(JSON.stringify({ tools: [{ name: 'a', command: 'true' }] }));
  const server = await testServer(t, { code, limits: { configPollMs: 50 } });
  const session = { 'mcp-session-id': await openSession(server) };
  const names = async () =>
    (await server.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, session)).json.result.tools.map(
      (tool) => tool.name,
    );
  const stream = await fetch(`${server.url}/mcp`, { headers: { accept: 'text/event-stream', ...session } });
  const changes = await fetch(`${server.url}/changes`);
  const heard: string[] = [];
  const told: string[] = [];
  for (const [response, into] of [
    [stream, heard],
    [changes, told],
  ] as const) {
    void (async () => {
      for await (const chunk of response.body ?? []) into.push(Buffer.from(chunk).toString());
    })().catch(() => undefined);
  }
  assert.deepEqual(await names(), ['a']);
  await write(
    JSON.stringify({
      tools: [
        { name: 'a', command: 'true' },
        { name: 'b', command: 'true' },
      ],
    }),
  );
  await eventually('b is there', async () => (await names()).length === 2);
  await eventually('the session is told', () => heard.join('').includes('notifications/tools/list_changed'));
  assert.ok(!heard.join('').includes('prompts/list_changed'));
  await eventually('the change stream is told', () => told.join('').includes('"toolCount":2'));
  await write('{');
  await eventually('the state tells it', () => told.join('').includes('ConfigInvalid'));
  assert.deepEqual(await names(), ['a', 'b']);
});

test('a wrong entry of the file is named and the others work', { timeout }, async (t) => {
  const server = await testServer(t, {
    mcp: {
      tools: [
        { name: 'bad', command: 'x', args: 'no list' },
        { name: 'good', command: 'true' },
      ],
    },
  });
  const changes = await fetch(`${server.url}/changes`);
  let text = '';
  for await (const chunk of changes.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('"state"')) break;
  }
  assert.match(text, /"ready":true,"reason":"ConfigProblems","message":"tools\[0\] \(bad\)\.args: /);
  assert.match(text, /"toolCount":1/);
});

test('only web files below the code folder are served', { timeout }, async (t) => {
  const code = await temporaryFolder(t);
  const secret = await temporaryFolder(t);
  await writeFile(join(secret, 'canary.html'), 'CANARY');
  await writeFile(join(code, 'page.html'), '<p>page</p>');
  await writeFile(join(code, 'with space.css'), 'p{}');
  for (const name of [
    'manifest.json',
    'mcp-config.json',
    'package.json',
    'package-lock.json',
    '.hidden.html',
    'tool.sh',
    'tool.py',
  ]) {
    await writeFile(join(code, name), 'CANARY');
  }
  await symlink(join(secret, 'canary.html'), join(code, 'link.html'));
  await symlink(secret, join(code, 'folder'));
  await symlink(join(code, 'manifest.json'), join(code, 'alias.html'));
  // As a kubelet lays out a ConfigMap.
  await mkdir(join(code, '..2026_01_01'));
  await writeFile(join(code, '..2026_01_01/mounted.html'), '<p>mounted</p>');
  await symlink('..2026_01_01', join(code, '..data'));
  await symlink('..data/mounted.html', join(code, 'mounted.html'));
  const server = await testServer(t, { code });
  const page = await server.send('GET', '/static/page.html');
  assert.deepEqual(
    [page.status, page.text, page.headers['content-type']],
    [200, '<p>page</p>', 'text/html; charset=utf-8'],
  );
  assert.equal((await server.send('HEAD', '/static/page.html')).headers['content-length'], '11');
  assert.equal(
    (await server.send('GET', '/static/page.html', { 'if-none-match': String(page.headers['etag']) })).status,
    304,
  );
  assert.equal((await server.send('GET', '/static/with%20space.css')).status, 200);
  assert.equal((await server.send('GET', '/static/mounted.html')).text, '<p>mounted</p>');
  for (const path of [
    'manifest.json',
    'mcp-config.json',
    'package.json',
    'package-lock.json',
    '.hidden.html',
    '..data/mounted.html',
    '..2026_01_01/mounted.html',
    'tool.sh',
    'tool.py',
    'link.html',
    'folder/canary.html',
    'alias.html',
    '',
    '.',
    '..',
    '../canary.html',
    '%2e%2e/canary.html',
    '..%2fcanary.html',
    'page.html/',
    'page.html%00.css',
    'x/../page.html',
    './page.html',
    '/page.html',
    '\\page.html',
    'page%252ehtml',
    '%c0%ae%c0%ae/canary.html',
    '%zz.html',
  ]) {
    const answer = await server.send('GET', `/static/${path}`);
    assert.deepEqual([answer.status, answer.text.includes('CANARY')], [404, false], path);
  }
  assert.equal((await server.send('POST', '/static/page.html')).status, 405);
});

test('/api/ reaches the own HTTP server of the agent, without the wire token', { timeout }, async (t) => {
  const { createServer } = await import('node:http');
  const own = createServer((request, response) => {
    request.setEncoding('utf8');
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      response.writeHead(201, { 'x-own': 'yes' });
      response.end(
        JSON.stringify({
          method: request.method,
          url: request.url,
          body,
          authorization: request.headers.authorization ?? null,
        }),
      );
    });
  });
  await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', () => resolve()));
  t.after(() => own.close());
  const { port } = own.address() as { port: number };
  const server = await testServer(t, { env: { PATH: '/bin', PORT: String(port) } }, { withoutTokens: false });
  const authorization = `Bearer ${tokenFor(bindHttpService('PUT', '/api/things/1', '?q=a%20b'))}`;
  const answer = await server.send('PUT', '/api/things/1?q=a%20b', { authorization }, 'body');
  assert.deepEqual([answer.status, answer.headers['x-own']], [201, 'yes']);
  assert.deepEqual(JSON.parse(answer.text), {
    method: 'PUT',
    url: '/api/things/1?q=a%20b',
    body: 'body',
    authorization: null,
  });
  const staticToken = `Bearer ${tokenFor(bindStatic('/static/none.html'))}`;
  assert.equal((await server.send('GET', '/static/none.html', { authorization: staticToken })).status, 404);
});

test('bad requests are refused for what they are', { timeout }, async (t) => {
  const { server } = await serverWith(t, { maxBodyBytes: 10_000 });
  const json = { 'content-type': 'application/json' };
  const status = async (...args: Parameters<TestServer['send']>) => (await server.send(...args)).status;
  assert.equal(await status('POST', '/mcp', json, '{'), 400);
  assert.equal(await status('POST', '/mcp', json, '[]'), 400);
  assert.equal(await status('POST', '/mcp', {}, '{}'), 415);
  assert.equal(await status('POST', '/mcp', json, 'x'.repeat(10_001)), 413);
  assert.equal(await status('PUT', '/mcp', json, '{}'), 405);
  assert.equal(await status('GET', '/nope'), 404);
  assert.equal(await status('GET', '/health', { origin: 'https://evil.example' }), 403);
  assert.equal(await status('GET', '/health'), 200);
  const old = await server.post(
    { jsonrpc: '2.0', id: 5, method: 'tools/list' },
    { 'mcp-protocol-version': '1999-01-01' },
  );
  assert.deepEqual([old.status, old.json.id], [400, 5]);
});

test('the change stream says hello, the state, and wants its token', { timeout }, async (t) => {
  const server = await testServer(t, { mcp: tools }, { withoutTokens: false });
  const authorization = `Bearer ${tokenFor(changesBinding)}`;
  const response = await fetch(`${server.url}/changes`, { headers: { authorization } });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('"state"')) break;
  }
  const [hello, state] = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(hello, { type: 'hello', version: '0.1.0', instance: 'instance-1' });
  assert.deepEqual([state.ready, state.toolCount, state.lists.tools], [true, 19, state.toolsDigest]);
});

test('an executable of the code folder is run as it is, not through a shell', { timeout }, async (t) => {
  const code = await temporaryFolder(t);
  await writeFile(join(code, 'my tool.sh'), '#!/bin/sh\nprintf "[%s]" "$@"\n');
  await chmod(join(code, 'my tool.sh'), 0o755);
  const args = ['$(id)', '; echo hacked', '-n', ''];
  const server = await testServer(t, {
    code,
    mcp: { tools: [{ name: 'own', command: 'my tool.sh', args }] },
  });
  const answer = await server.post(toolCall('own'), { 'mcp-session-id': await openSession(server) });
  assert.deepEqual(textOf(answer.json), ['[$(id)][; echo hacked][-n][]']);
});
