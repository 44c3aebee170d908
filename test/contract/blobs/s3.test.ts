import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { basename, join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { type OpenStore, testsOfEveryStore, upload } from '#agent-server/blobs/testing/contract.ts';
import type { AgentServerOptions } from '#agent-server/server.ts';
import {
  eventually,
  openSession,
  type TestServer,
  temporaryFolder,
  testConfig,
  testServer,
  toolCall,
} from '#agent-server/testing/harness.ts';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { Log } from '#kit/log.ts';
import { type Bucket, startBucket } from './versitygw.ts';

const started = await startBucket();
const skip = typeof started === 'string' ? started : false;
const bucket = started as Bucket;
if (!skip) after(() => bucket.close());
const settings = { timeout: 60_000, skip };

let prefixes = 0;
const newPrefix = () => `test-${++prefixes}/`;
const ownFolder = (prefix: string, kind: string) => `${prefix}default/demo/${kind}`;

function configFor(
  prefix: string,
  limits: NonNullable<AgentServerConfig['blobs']>['limits'] = {},
): Pick<AgentServerConfig, 'blobs' | 'upstream'> {
  const { endpoint, name, accessKeyId, secretAccessKey } = bucket;
  const s3 = { endpoint, bucket: name, prefix, region: 'us-east-1', pathStyle: true };
  return { blobs: { limits, s3 }, upstream: { headers: {}, blobs: { accessKeyId, secretAccessKey } } };
}

async function serverOf(
  t: TestContext,
  prefix: string,
  changes: Partial<AgentServerConfig> = {},
  options: Partial<AgentServerOptions> = {},
): Promise<TestServer> {
  const code = changes.paths?.code ?? (await temporaryFolder(t));
  return testServer(t, { code, ...configFor(prefix), ...changes }, options);
}

/** Contents, and parts of uploads that have not ended. */
async function keptBelow(prefix: string): Promise<string[]> {
  const whole = await bucket.files(ownFolder(prefix, 'data'));
  return whole.map((path) => basename(path));
}

const open: OpenStore = async (t, blobLimits, limits = {}, options = {}) => {
  const prefix = newPrefix();
  const server = await serverOf(t, prefix, { ...configFor(prefix, blobLimits), limits }, options);
  return { ...server, kept: () => keptBelow(prefix) };
};

testsOfEveryStore(open, skip);

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');

async function send(server: TestServer, content: Buffer, query = ''): Promise<Record<string, string>> {
  const init = { method: 'POST', body: content, headers: { 'content-type': 'text/plain' } };
  const answer = await fetch(`${server.url}/blobs${query}`, init);
  assert.equal(answer.status, 201);
  return (await answer.json()) as Record<string, string>;
}

test(
  'a file of several parts comes back as it went, and so does a range over their seams',
  settings,
  async (t) => {
    const server = await serverOf(t, newPrefix());
    const content = randomBytes(20_000_000);
    const info = await send(server, content);
    assert.equal(info['sha256'], sha256(content));
    assert.match(info['id'] ?? '', /ffff$/);
    const url = `${server.url}/blobs/${info['id']}`;
    const got = Buffer.from(await (await fetch(url)).arrayBuffer());
    assert.ok(got.equals(content));
    const range = await fetch(url, { headers: { range: 'bytes=8388000-17000000' } });
    assert.equal(range.status, 206);
    assert.ok(Buffer.from(await range.arrayBuffer()).equals(content.subarray(8_388_000, 17_000_001)));
  },
);

const uploadsOf = async () => {
  const names = await bucket.files('.sgwtmp');
  return names.filter((path) => path.includes('multipart'));
};

test('an upload that breaks off leaves neither a blob nor parts', settings, async (t) => {
  const prefix = newPrefix();
  const server = await serverOf(t, prefix);
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.write('POST /blobs HTTP/1.1\r\nhost: x\r\ncontent-length: 50000000\r\n\r\n');
  socket.write(Buffer.alloc(20_000_000));
  await eventually('parts are there', async () => (await uploadsOf()).length > 0);
  socket.destroy();
  await eventually('the parts are gone', async () => (await uploadsOf()).length === 0);
  assert.deepEqual(await keptBelow(prefix), []);
  const empty = JSON.stringify({ blobs: [], usage: { bytes: 0, blobs: 0 }, shared: true });
  // The store may not have said yet that they are.
  await eventually('nothing counts', async () => (await server.send('GET', '/blobs')).text === empty);
});

test('what a crash left is no blob, and is removed when it is a day old', settings, async (t) => {
  const prefix = newPrefix();
  const first = await serverOf(t, prefix);
  const [old, young, whole] = await Promise.all(
    ['old', 'young', 'whole'].map((text) => send(first, Buffer.from(text))),
  );
  const data = join(bucket.folder, ownFolder(prefix, 'data'));
  for (const info of [old, young]) rmSync(join(bucket.folder, ownFolder(prefix, 'info'), info?.['id'] ?? ''));
  const longAgo = Date.now() / 1000 - 2 * 24 * 3600;
  for (const info of [old, whole]) utimesSync(join(data, info?.['id'] ?? ''), longAgo, longAgo);
  const second = await serverOf(t, prefix, { limits: { blobSweepMs: 50 } });
  assert.equal((await second.send('GET', `/blobs/${young?.['id']}`)).status, 404);
  await eventually('the old one is gone', async () => (await keptBelow(prefix)).length === 2);
  assert.equal((await second.send('GET', `/blobs/${whole?.['id']}`)).text, 'whole');
});

test('every replica serves every blob, deletes it, and counts it', settings, async (t) => {
  const prefix = newPrefix();
  const replica = async (slot: number) => {
    const { agent } = testConfig('/');
    return serverOf(t, prefix, { agent: { ...agent, slot } });
  };
  const [one, other] = [await replica(0), await replica(1)];
  const { id } = await send(one, Buffer.from('shared'));
  assert.equal((await other.send('GET', `/blobs/${id}`)).text, 'shared');
  const lists = await Promise.all([one, other].map((server) => server.send('GET', '/blobs')));
  for (const { json } of lists)
    assert.equal((json as unknown as { blobs: { id: string }[] }).blobs[0]?.id, id);
  assert.equal((await other.send('DELETE', `/blobs/${id}`)).status, 204);
  assert.equal((await one.send('GET', `/blobs/${id}`)).status, 404);
});

const script = `
import { readFileSync, writeFileSync, writeSync } from 'node:fs';
const { input } = JSON.parse(readFileSync(0, 'utf8'));
const text = readFileSync(process.env.WORKSPACE_PATH + '/' + input.in, 'utf8');
writeFileSync(process.env.WORKSPACE_PATH + '/out.txt', text.toUpperCase());
console.log('read ' + text);
writeSync(3, JSON.stringify({ blob: { path: 'out.txt', type: 'text/plain' } }) + '\\n');
`;

test(
  'a tool reads a blob that its call names as a file, and what it gives is a blob of any replica',
  settings,
  async (t) => {
    const prefix = newPrefix();
    const code = await temporaryFolder(t);
    writeFileSync(join(code, 'copy.mjs'), script);
    const { env } = testConfig(code);
    const tools = [{ name: 'copy', command: 'node copy.mjs', inputSchema: { type: 'object' } }];
    const paths = { code, workspace: code };
    const more = { paths, mcp: { tools }, env: { ...env, WORKSPACE_PATH: code } };
    const [server, other] = [await serverOf(t, prefix, more), await serverOf(t, prefix)];
    const { id = '' } = await send(other, Buffer.from('for the tool'));
    const session = { 'mcp-session-id': await openSession(server) };
    const { json } = await server.post(toolCall('copy', { in: `blobs/${id}` }), session);
    assert.match(json.result.content[0]?.text ?? '', /read for the tool/);
    const { uri = '' } = json.result.content[1] as unknown as Record<string, string>;
    assert.equal((await other.send('GET', uri.replace('ploinky://demo', ''))).text, 'FOR THE TOOL');
    const brought = () => readdirSync(join(code, 'blobs')).sort();
    assert.deepEqual(brought(), [id, `${id}.json`]);
    assert.equal((await server.send('DELETE', `/blobs/${id}`)).status, 204);
    assert.deepEqual(brought(), []);
  },
);

test(
  'wrong credentials are told without a secret, and new ones are taken up at once',
  settings,
  async (t) => {
    const prefix = newPrefix();
    const right = configFor(prefix);
    const wrong = { headers: {}, blobs: { accessKeyId: 'tester', secretAccessKey: 'canary-wrong' } };
    const lines: string[] = [];
    const write = (...line: unknown[]) => lines.push(JSON.stringify(line));
    const log: Log = { debug: write, info: write, warn: write, error: write, with: () => log };
    const server = await serverOf(t, prefix, { upstream: wrong }, { log });
    const refused = await upload(server, 'x');
    assert.equal(refused.status, 502);
    assert.equal(refused.info['error'], 'StoreFailed');
    assert.match(refused.text, /SignatureDoesNotMatch/);
    assert.ok(!/canary|tester/.test(refused.text), refused.text);
    server.server.reconfigure({ ...testConfig(server.code), ...right });
    assert.equal((await upload(server, 'x')).status, 201);
    assert.ok(!/canary/.test(lines.join('\n')));
  },
);

test('a store that is away is 502, and a bucket that is not there is named', settings, async (t) => {
  const config = configFor(newPrefix());
  const s3 = { ...config.blobs?.s3, bucket: 'nowhere' } as NonNullable<
    NonNullable<AgentServerConfig['blobs']>['s3']
  >;
  const server = await serverOf(t, 'x/', { blobs: { limits: {}, s3 } });
  const answer = await upload(server, 'x');
  assert.equal(answer.status, 502);
  assert.match(answer.text, /NoSuchBucket/);
  const away = { ...s3, endpoint: 'http://127.0.0.1:9' };
  const other = await serverOf(t, 'x/', { blobs: { limits: {}, s3: away } });
  assert.equal((await upload(other, 'x')).status, 502);
  assert.equal((await other.send('GET', `/blobs/${'a'.repeat(48)}`)).status, 502);
});

test('requests go through the egress proxy where there is one', settings, async (t) => {
  const asked: string[] = [];
  const proxy = createServer((client) => {
    client
      .on('error', () => undefined)
      .once('data', (head) => {
        asked.push(String(head).split('\r\n').join(' '));
        const { hostname, port } = new URL(bucket.endpoint);
        const store = connect(Number(port), hostname, () => {
          client.write('HTTP/1.1 200 OK\r\n\r\n');
          client.pipe(store).pipe(client);
        });
        store.on('error', () => client.destroy());
      });
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => proxy.close());
  const { port } = proxy.address() as { port: number };
  const config = configFor(newPrefix());
  const s3 = { ...config.blobs?.s3, endpoint: 'http://store.example:9000' };
  const listen = await freeListener();
  const forwards = [{ listen, target: `127.0.0.1:${port}`, proxyAuthorization: 'Basic dDp0' }];
  const server = await serverOf(t, 'x/', { blobs: { limits: {}, s3: s3 as never }, forwards });
  assert.equal((await upload(server, 'x')).status, 201);
  assert.match(asked[0] ?? '', /^CONNECT store\.example:9000 .*Proxy-Authorization: Basic dDp0/i);
});

async function freeListener(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

test('a download whose object is cut short breaks, and is not taken for the whole', settings, async (t) => {
  const prefix = newPrefix();
  const server = await serverOf(t, prefix);
  const { id } = await send(server, Buffer.from('0123456789'));
  writeFileSync(join(bucket.folder, ownFolder(prefix, 'data'), id ?? ''), '01234');
  const answer = await fetch(`${server.url}/blobs/${id}`);
  await assert.rejects(answer.text());
});
