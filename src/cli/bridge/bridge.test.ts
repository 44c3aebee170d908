import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import {
  createScene,
  events,
  type Heard,
  initialize,
  initialized,
  json,
  type Scene,
  sessionServer,
  stateless,
} from './testing.ts';

// The bridge between standard streams and Streamable HTTP, against endpoints that do one thing each.

const limits = { timeout: 20_000 };

async function begin(scene: Scene): Promise<void> {
  scene.say(initialize);
  scene.say(initialized);
  assert.equal((await scene.nextMessage())['id'], 0);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await systemClock.sleep(5);
}

test('messages go on as they are written, both ways', limits, async () => {
  const raw =
    '{"jsonrpc": "2.0","id":7,"method":"x","params":{"n":1.0,"big":12345678901234567890,"t":"é\\u0001"}}';
  const answer = '{ "id":7, "jsonrpc":"2.0","result":{"n":2.50,"big":98765432109876543210} }';
  const scene = await createScene((_heard, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  });
  scene.say(raw);
  assert.equal(await scene.next(), answer);
  assert.equal(scene.heard[0]?.body, raw);
  await scene.end();
});

test('a session is kept, told to the server and ended', limits, async () => {
  const scene = await createScene(sessionServer());
  await begin(scene);
  scene.say({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  assert.deepEqual(await scene.nextMessage(), { jsonrpc: '2.0', id: 1, result: { of: 's1' } });
  await scene.end();
  const posts = scene.heard.filter(({ method }) => method === 'POST');
  assert.deepEqual(
    posts.map(({ message, headers }) => [
      message.method,
      headers['mcp-session-id'],
      headers['mcp-protocol-version'],
    ]),
    [
      ['initialize', undefined, undefined],
      ['notifications/initialized', 's1', '2025-11-25'],
      ['tools/list', 's1', '2025-11-25'],
    ],
  );
  const last = scene.heard.at(-1);
  assert.deepEqual([last?.method, last?.headers['mcp-session-id']], ['DELETE', 's1']);
});

test(
  'what the server sends of its own accord reaches the client, and the answer the server',
  limits,
  async () => {
    const asked = '{"jsonrpc":"2.0","id":"q1","method":"roots/list"}';
    let stream: ServerResponse | undefined;
    const scene = await createScene(
      sessionServer(({ method }, response) => {
        if (method !== 'GET') return false;
        stream = events(response, `id: 5\ndata: ${asked}\n\n`);
        return true;
      }),
    );
    await begin(scene);
    assert.equal(await scene.next(), asked);
    const answered = '{"jsonrpc":"2.0","id":"q1","result":{"roots":[]}}';
    scene.say(answered);
    await until(() => scene.heard.some(({ body }) => body === answered));
    // The stream is opened again where it was.
    stream?.end('retry: 1\ndata:\n\n');
    await until(() => scene.heard.some(({ headers }) => headers['last-event-id'] === '5'));
    await scene.end();
  },
);

test('a session that the router lost is made anew, once, with what was set up in it', limits, async () => {
  let lost = false;
  const scene = await createScene(
    sessionServer(({ headers, message }, response) => {
      if (!lost || headers['mcp-session-id'] !== 's1') return false;
      json(
        response,
        { jsonrpc: '2.0', id: message.id ?? null, error: { code: -32001, message: 'no session' } },
        404,
      );
      return true;
    }),
  );
  await begin(scene);
  for (const [id, method, params] of [
    [1, 'resources/subscribe', { uri: 'a://1' }],
    [2, 'resources/subscribe', { uri: 'a://2' }],
    [3, 'resources/unsubscribe', { uri: 'a://1' }],
    [4, 'logging/setLevel', { level: 'info' }],
  ] as const) {
    scene.say({ jsonrpc: '2.0', id, method, params });
    assert.equal((await scene.nextMessage())['id'], id);
  }
  lost = true;
  const before = scene.heard.length;
  for (const id of [5, 6]) scene.say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 't' } });
  const answers = [await scene.nextMessage(), await scene.nextMessage()];
  assert.deepEqual(answers.map(({ id }) => id).sort(), [5, 6]);
  for (const { result } of answers) assert.deepEqual(result, { of: 's2' });
  const since = scene.heard.slice(before).filter(({ headers }) => headers['mcp-session-id'] !== 's1');
  assert.deepEqual(since.map(({ message }) => message.method).slice(0, 4), [
    'initialize',
    'notifications/initialized',
    'resources/subscribe',
    'logging/setLevel',
  ]);
  assert.deepEqual(since[2]?.message.params, { uri: 'a://2' });
  await scene.end();
  assert.deepEqual(scene.left, [], 'the client hears nothing of it');
});

test('a stream that ends before its answer is gone on with where it was', limits, async () => {
  const scene = await createScene(
    sessionServer(({ method, message, headers }, response) => {
      if (message.method === 'tools/call') {
        events(response, 'id: 1\nretry: 1\ndata:\n\nid: 2\ndata: {"jsonrpc":"2.0","method":"n"}\n\n').end();
        return true;
      }
      if (method !== 'GET' || headers['last-event-id'] === undefined) return false;
      assert.equal(headers['last-event-id'], '2');
      events(response, 'id: 3\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n').end();
      return true;
    }),
  );
  await begin(scene);
  scene.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't' } });
  assert.equal(await scene.next(), '{"jsonrpc":"2.0","method":"n"}');
  assert.equal(await scene.next(), '{"jsonrpc":"2.0","id":1,"result":{}}');
  await scene.end();
});

test('every request gets an answer, also when the stream cannot be gone on with', limits, async () => {
  const scene = await createScene((_heard, response) => void events(response, ': nothing\n\n').end());
  scene.say(stateless('a', 'tools/call', { name: 't' }));
  const { id, error } = await scene.nextMessage();
  assert.equal(id, 'a');
  assert.match((error as { message: string }).message, /the stream ended before the answer came/);
  await scene.end();
});

test('requests of 2026-07-28 get their headers and no session', limits, async () => {
  const scene = await createScene((heard, response) =>
    json(response, { jsonrpc: '2.0', id: heard.message.id, result: {} }),
  );
  scene.say(stateless(1, 'tools/call', { name: 'grüße', arguments: {} }));
  await scene.next();
  const { headers } = scene.heard[0] as Heard;
  assert.equal(headers['mcp-protocol-version'], '2026-07-28');
  assert.equal(headers['mcp-method'], 'tools/call');
  assert.equal(headers['mcp-name'], '=?base64?Z3LDvMOfZQ==?=');
  await scene.end();
  assert.ok(!scene.heard.some(({ method }) => method === 'DELETE'));
});

test('arguments that travel in headers are learnt when the server misses them', limits, async () => {
  const inputSchema = { properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };
  const scene = await createScene(({ message, headers }, response) => {
    const { id, method } = message;
    const isMissing = method === 'tools/call' && headers['mcp-param-region'] !== 'eu';
    if (isMissing)
      json(response, { jsonrpc: '2.0', id, error: { code: -32020, message: 'Header mismatch' } }, 400);
    else if (method === 'tools/list') {
      json(response, { jsonrpc: '2.0', id, result: { tools: [{ name: 't', inputSchema }] } });
    } else json(response, { jsonrpc: '2.0', id, result: {} });
  });
  for (const id of [1, 2]) {
    scene.say(stateless(id, 'tools/call', { name: 't', arguments: { region: 'eu' } }));
    assert.deepEqual(await scene.nextMessage(), { jsonrpc: '2.0', id, result: {} });
  }
  const methods = scene.heard.map(({ message }) => message.method);
  assert.deepEqual(methods, ['tools/call', 'tools/list', 'tools/call', 'tools/call']);
  await scene.end();
});

test('a refusal for its headers that cannot be mended is passed on', limits, async () => {
  const scene = await createScene(({ message: { id, method } }, response) => {
    if (method === 'tools/list') json(response, { jsonrpc: '2.0', id, result: { tools: [] } });
    else json(response, { jsonrpc: '2.0', id: null, error: { code: -32020, message: 'no' } }, 400);
  });
  scene.say(stateless(1, 'tools/call', { name: 't' }));
  // The id of the request, which the server had not read yet.
  assert.deepEqual(await scene.nextMessage(), {
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32020, message: 'no' },
  });
  await scene.end();
});

test('cancelling closes the stream in 2026-07-28 and goes on as a message in a session', limits, async () => {
  let closed = 0;
  const holds = sessionServer(({ message }, response) => {
    if (message.method !== 'tools/call') return false;
    events(response, ': wait\n\n').once('close', () => {
      closed += 1;
    });
    return true;
  });
  const scene = await createScene(holds);
  const cancel = (requestId: unknown) => ({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId },
  });
  scene.say(stateless(1, 'tools/call', { name: 't' }));
  await until(() => scene.heard.length === 1);
  scene.say(cancel(1));
  await until(() => closed === 1);
  assert.equal(scene.heard.length, 1, 'nothing is sent for it');

  await begin(scene);
  scene.say({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 't' } });
  await until(() => scene.heard.some(({ message }) => message.id === 2));
  scene.say(cancel(2));
  await until(() => scene.heard.some(({ message }) => message.method === 'notifications/cancelled'));
  await scene.end();
  assert.deepEqual(scene.left, [], 'a cancelled call is not answered');
});

test('a subscription of 2026-07-28 that breaks is asked for again, unseen', limits, async () => {
  const ack = '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}';
  const changed = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
  let times = 0;
  const scene = await createScene((_heard, response) => {
    times += 1;
    const stream = events(response, `data: ${ack}\n\ndata: ${changed}\n\n`);
    if (times === 1) stream.end();
  });
  scene.say(stateless(1, 'subscriptions/listen', { notifications: { toolsListChanged: true } }));
  assert.deepEqual([await scene.next(), await scene.next(), await scene.next()], [ack, changed, changed]);
  assert.equal(times, 2);
  await scene.end();
});

test('a router that is away for a while and comes back elsewhere is found', limits, async () => {
  const scene = await createScene(
    ({ message }, response) => json(response, { jsonrpc: '2.0', id: message.id, result: {} }),
    { movesAfterMs: 300, connectTimeoutMs: 5_000 },
  );
  scene.say(stateless(1, 'tools/list'));
  assert.deepEqual(await scene.nextMessage(), { jsonrpc: '2.0', id: 1, result: {} });
  await scene.end();
});

test('a router that stays away is told as an error of each request', limits, async () => {
  const scene = await createScene(() => undefined, { isAway: true, connectTimeoutMs: 50 });
  scene.say(stateless(1, 'tools/list'));
  const { id, error } = await scene.nextMessage();
  assert.equal(id, 1);
  assert.match((error as { message: string }).message, /the router at http:\S+ cannot be reached/);
  await scene.end();
});

test('calls that run when the client closes its end are waited for, but not for ever', limits, async () => {
  let answers = true;
  const scene = await createScene(
    ({ message }, response) => {
      if (!answers) return;
      setTimeout(() => json(response, { jsonrpc: '2.0', id: message.id, result: {} }), 50);
    },
    { drainMs: 300 },
  );
  scene.say(stateless(1, 'tools/list'));
  await until(() => scene.heard.length === 1);
  answers = false;
  scene.say(stateless(2, 'tools/list'));
  await until(() => scene.heard.length === 2);
  await scene.end();
  assert.deepEqual(scene.left, ['{"jsonrpc":"2.0","id":1,"result":{}}']);
});

const unusable: [string, string, number][] = [
  ['no JSON', 'nope', -32700],
  ['a batch', '[]', -32600],
  ['something else', '{"jsonrpc":"2.0"}', -32600],
  ['a message that is too large', JSON.stringify({ x: 'y'.repeat(3_000) }), -32600],
];
for (const [name, line, code] of unusable) {
  test(`${name} is refused, and the next message is not`, limits, async () => {
    const scene = await createScene(
      ({ message }, response) => json(response, { jsonrpc: '2.0', id: message.id, result: {} }),
      { maxMessageBytes: 2_000 },
    );
    scene.say(line);
    scene.say(stateless(1, 'tools/list'));
    const { id, error } = await scene.nextMessage();
    assert.equal(id, null);
    assert.equal((error as { code: number }).code, code);
    assert.equal((await scene.nextMessage())['id'], 1);
    await scene.end();
  });
}

test('an answer that is none of MCP becomes an error that says what came', limits, async () => {
  const scene = await createScene(
    (_heard, response) => void response.writeHead(502).end('<html>bad gateway'),
  );
  scene.say(stateless(1, 'tools/list'));
  const { error } = await scene.nextMessage();
  assert.equal((error as { message: string }).message, 'the router answered 502 <html>bad gateway');
  await scene.end();
});
