import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openSession, temporaryFolder, testConfig, testServer, toolCall } from '../testing/harness.ts';

const limits = { timeout: 30_000 };

const script = `
import { readFileSync, writeFileSync, writeSync } from 'node:fs';
const { input } = JSON.parse(readFileSync(0, 'utf8'));
const at = (path) => process.env.WORKSPACE_PATH + '/' + path;
if (input.in) console.log('read ' + readFileSync(at(input.in), 'utf8'));
if (input.big) console.log('x'.repeat(input.big));
if (input.out) {
  if (input.text) writeFileSync(at(input.out), input.text);
  const blob = { path: input.out, type: 'text/csv', name: input.name, ttl: input.ttl };
  writeSync(3, JSON.stringify({ blob }) + '\\n');
}
if (input.fail) process.exit(1);
`;

async function server(t: TestContext, ttlSeconds = 0) {
  const code = await temporaryFolder(t);
  writeFileSync(join(code, 'files.mjs'), script);
  const { env } = testConfig(code);
  const made = await testServer(t, {
    code,
    env: { ...env, WORKSPACE_PATH: code },
    blobs: { limits: { ttlSeconds } },
    mcp: { tools: [{ name: 'files', command: 'node files.mjs', inputSchema: { type: 'object' } }] },
  });
  const session = { 'mcp-session-id': await openSession(made) };
  return { ...made, post: (message: unknown) => made.post(message, session) };
}

test(
  'a tool reads an uploaded blob by its path, and gives a file as a link that can be read',
  limits,
  async (t) => {
    const at = await server(t);
    const { id } = (await at.send('POST', '/blobs', {}, 'from outside')).json as unknown as { id: string };
    const read = await at.post(toolCall('files', { in: `blobs/${id}` }));
    assert.match(read.json.result.content[0]?.text ?? '', /read from outside/);

    const answer = await at.post(
      toolCall('files', { out: 'report.csv', text: 'a,b\n1,2\n', name: 'März.csv' }),
    );
    const link = answer.json.result.content[1] as unknown as Record<string, string>;
    assert.equal(link['type'], 'resource_link');
    assert.equal(link['name'], 'März.csv');
    assert.equal(link['mimeType'], 'text/csv');
    assert.match(link['uri'] ?? '', /^ploinky:\/\/demo\/blobs\/[0-9a-f]{48}$/);
    for (const uri of [link['uri'], link['uri']?.replace('ploinky://demo/', '')]) {
      const got = await at.post({ jsonrpc: '2.0', id: 2, method: 'resources/read', params: { uri } });
      assert.deepEqual(got.json.result.contents, [{ uri, mimeType: 'text/csv', text: 'a,b\n1,2\n' }]);
    }
    const gone = `blobs/${'0'.repeat(44)}ffff`;
    const none = await at.post({ jsonrpc: '2.0', id: 3, method: 'resources/read', params: { uri: gone } });
    assert.match(none.json.error.message, /not found/);
  },
);

test(
  'bytes that are no text are given in base64, and a blob of another agent is not looked for here',
  limits,
  async (t) => {
    const at = await server(t);
    const { id } = (await at.send('POST', '/blobs', { 'x-mime-type': 'image/png' }, '\u0001\u0002'))
      .json as unknown as {
      id: string;
    };
    const read = async (uri: string) =>
      (await at.post({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } })).json;
    const { result } = await read(`ploinky://demo/blobs/${id}`);
    assert.deepEqual(result.contents, [
      {
        uri: `ploinky://demo/blobs/${id}`,
        mimeType: 'image/png',
        blob: Buffer.from([1, 2]).toString('base64'),
      },
    ]);
    assert.match((await read(`ploinky://other/blobs/${id}`)).error.message, /not found/);
  },
);

test(
  'nothing that a tool gives stays longer than the Agent says, nor when its call fails',
  limits,
  async (t) => {
    const at = await server(t, 60);
    const blobs = async () => {
      const { json } = await at.send('GET', '/blobs');
      return (json as unknown as { blobs: Record<string, string>[] }).blobs;
    };
    for (const ttl of [0, 1e9 - 1, 1e300, -1, 30, undefined])
      await at.post(toolCall('files', { out: 'a.csv', text: 'a', ttl }));
    const given = await blobs();
    assert.equal(given.length, 6);
    const stays = given.map(
      ({ createdAt = '', expiresAt = '' }) => Date.parse(expiresAt) - Date.parse(createdAt),
    );
    assert.deepEqual(stays.sort(), [30_000, ...Array(5).fill(60_000)]);
    await at.post(toolCall('files', { out: 'a.csv', text: 'a', fail: true }));
    assert.equal((await blobs()).length, 6);
  },
);

test('a tool gives nothing from outside its workspace', limits, async (t) => {
  const at = await server(t);
  const secret = join(await temporaryFolder(t), 'secret.txt');
  writeFileSync(secret, 'canary');
  symlinkSync(secret, join(at.code, 'link.txt'));
  assert.equal(readFileSync(join(at.code, 'link.txt'), 'utf8'), 'canary', 'control');
  for (const out of ['link.txt', '../secret.txt', secret, '/etc/passwd', '.', '']) {
    const answer = await at.post(toolCall('files', { out }));
    assert.match(answer.json.result.content[1]?.text ?? 'none', /cannot be given|none/, out);
    assert.ok(!JSON.stringify(answer.json).includes('resource_link'), out);
  }
});

test(
  'a large result of a task of the controller is a blob that the answer names; a small one is not',
  limits,
  async (t) => {
    const at = await server(t);
    const ask = async (key: string, input: object) => {
      const order = JSON.stringify({ key, tool: 'files', input });
      const headers = { 'content-type': 'application/json' };
      for (;;) {
        const { task } = (await at.send('POST', '/tasks', headers, order)).json;
        if (task?.['status'] === 'completed') return task;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    assert.equal((await ask('uid/1', { big: 10 }))['blob'], undefined);
    const line = await ask('uid/2', { big: 100_000 });
    assert.equal(line['result'], undefined);
    const uri = String(line['blob']);
    assert.equal((await ask('uid/2', { big: 100_000 }))['blob'], uri, 'asked again it is the same one');
    const got = await at.post({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } });
    const kept = JSON.parse(got.json.result.contents[0]?.text ?? '') as { content: { text: string }[] };
    assert.equal(kept.content[0]?.text.trim().length, 100_000);
  },
);
