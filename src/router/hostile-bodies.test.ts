import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { startTestRouter } from './testing/harness.ts';
import { openSession, post, request } from './testing/mcp-client.ts';

const limits = { timeout: 30_000 };
const mebibyte = 1024 * 1024;

/** Sends bytes without saying how many; gives the status and how many were taken before the answer. */
function sendEndless(
  base: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; sent: number }> {
  let sent = 0;
  const chunk = Buffer.alloc(64 * 1024, 'a');
  const body = new Readable({
    read() {
      sent += chunk.length;
      this.push(sent > 200 * mebibyte ? null : chunk);
    },
  });
  return new Promise((resolve, reject) => {
    const asked = httpRequest(
      `${base}${path}`,
      { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      (answer) => {
        answer.resume();
        body.destroy();
        resolve({ status: answer.statusCode ?? 0, sent });
      },
    );
    asked.on('error', (error) => (sent > 0 ? resolve({ status: 0, sent }) : reject(error)));
    body.pipe(asked);
  });
}

test('a body without end is refused at the limit and not held', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const base = await router.listen();
  const before = process.memoryUsage().rss;
  for (const path of ['/mcp', '/mcps/demo/mcp']) {
    const { status, sent } = await sendEndless(base, path);
    assert.equal(status, 413);
    assert.ok(sent < 60 * mebibyte, `${sent} bytes went out`);
  }
  assert.ok(process.memoryUsage().rss - before < 150 * mebibyte);
  assert.deepEqual(router.agents[0]?.seen, []);
});

test(
  'a client that is refused while it sends gets its answer, and is cut off if it goes on',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }]);
    const base = await router.listen();
    for (const [path, headers, refusal] of [
      ['/mcp', { host: 'evil.example' }, 403],
      ['/apis/demo/data', { host: 'evil.example' }, 403],
      ['/nowhere', {}, 404],
      ['/mcp', { 'content-type': 'text/plain' }, 415],
      ['/mcp', { 'content-encoding': 'gzip' }, 415],
    ] as const) {
      const { status, sent } = await sendEndless(base, path, headers);
      assert.equal(status, refusal, path);
      assert.ok(sent < 60 * mebibyte, `${path}: ${sent} bytes went out`);
    }
  },
);

test('a body that says it is too long is refused unread', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const base = await router.listen();
  const status = await new Promise<number>((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': String(10 * 1024 * mebibyte) };
    const asked = httpRequest(`${base}/mcp`, { method: 'POST', headers }, (answer) => {
      resolve(answer.statusCode ?? 0);
      asked.destroy();
    });
    asked.on('error', reject);
    asked.flushHeaders();
  });
  assert.equal(status, 413);
});

const hostile: Record<string, { body: string; code: number }> = {
  'a million levels of arrays': { body: '['.repeat(1_000_000), code: -32600 },
  'a million levels of objects': { body: '{"a":'.repeat(1_000_000), code: -32600 },
  'an empty batch': { body: '[]', code: -32600 },
  'a batch of 100,000': {
    body: `[${Array(100_000).fill('{"jsonrpc":"2.0","id":1,"method":"ping"}').join(',')}]`,
    code: -32600,
  },
  'an id that is an object': { body: '{"jsonrpc":"2.0","id":{},"method":"ping"}', code: -32600 },
  'an id that is null': { body: '{"jsonrpc":"2.0","id":null,"method":"ping"}', code: -32600 },
  'params that are an array': { body: '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', code: -32600 },
  'a million keys': { body: `{${'"a":1,'.repeat(1_000_000)}"jsonrpc":"2.0"}`, code: -32600 },
  'a million items': {
    body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[${'1,'.repeat(1_000_000)}1]}}`,
    code: -32600,
  },
  'binary rubbish': { body: '\u0000\u0001\u0002', code: -32700 },
};
for (const [what, { body, code }] of Object.entries(hostile)) {
  test(`${what} is an error within a second`, limits, async (t) => {
    // Where bodies may be so long, it is their shape that is refused.
    const router = await startTestRouter(t, [{ name: 'demo' }], { limits: { bodyBytes: 10 * mebibyte } });
    for (const path of ['/mcp', '/mcps/demo/mcp']) {
      const started = performance.now();
      const reply = await post(router, body, { path });
      assert.equal(reply.status, 400, reply.text.slice(0, 200));
      assert.equal(reply.json.error.code, code);
      assert.ok(performance.now() - started < 5_000);
    }
  });
}

test('many keys, and keys named as what every object has, harm nobody', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const headers = await openSession(router);
  const many = Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [`k${index}`, 1]));
  const large = await post(
    router,
    request('tools/call', { name: 'echo', arguments: { ...many, text: 'ok' } }),
    { headers },
  );
  assert.equal(large.json.result.content[0].text, 'demo: ok');
  const odd =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","__proto__":{"polluted":1},"arguments":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"text":"ok"}}}';
  const reply = await post(router, odd, { headers });
  assert.equal(reply.json.result.content[0].text, 'demo: ok');
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const unknown = await post(router, request('tools/call', { name }), { headers });
    assert.equal(unknown.json.error.code, -32602, name);
    assert.equal((await post(router, request(name), { headers })).json.error.code, -32601, name);
    const command = await post(router, `{"command":"${name}"}`, {});
    assert.equal(command.status, 400);
  }
});

test('a compressed body is not unpacked', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'identity, gzip']) {
    const reply = await post(router, '\u001f\u008b', { headers: { 'content-encoding': encoding } });
    assert.equal(reply.status, 415, encoding);
    assert.match(reply.json.error, /Content-Encoding/);
  }
  const plain = await post(router, request('ping'), { headers: { 'content-encoding': 'identity' } });
  assert.equal(plain.json.error.code, -32000, 'it is read: only its session is missing');
});

test('many headers, or long ones, are refused by the server', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const base = await router.listen();
  const headers = Object.fromEntries(
    Array.from({ length: 3000 }, (_, index) => [`x-h${index}`, 'v'.repeat(20)]),
  );
  await assert.rejects(
    fetch(`${base}/health`, { headers }).then((answer) => {
      if (answer.status === 431) throw new Error('431');
    }),
  );
});
