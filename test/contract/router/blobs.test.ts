import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { eventually } from '#agent-server/testing/harness.ts';
import { metaKeys } from '#mcp/eras.ts';
import { masterKey } from '#wire/testing.ts';
import { agentAt, type Instance, startInstance, startReplica } from './replicas.ts';

// Files through a real router, to real agent-servers.

const limits = { timeout: 60_000 };
const masters = [masterKey(1)];
const statelessMeta = {
  [metaKeys.protocolVersion]: '2026-07-28',
  [metaKeys.clientInfo]: { name: 'test', version: '1' },
  [metaKeys.clientCapabilities]: {},
};
const stateless = (uri: string) => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'resources/read',
  'mcp-name': uri,
});

interface Info {
  readonly id: string;
  readonly downloadUrl: string;
  readonly size: number;
  readonly sha256: string;
}

async function start(t: TestContext, slots: readonly (number | undefined)[] = [undefined]) {
  const instances: Instance[] = [];
  for (const slot of slots)
    instances.push(
      await startInstance(t, `uid-${slot ?? 'x'}`, masters, {}, slot === undefined ? {} : { slot }),
    );
  const replica = await startReplica(t, [agentAt(instances.map((each) => each.endpoint()))], masters);
  return { ...replica, instances };
}

async function upload(
  url: string,
  body: string | Buffer | ReadableStream,
  headers: Record<string, string> = {},
): Promise<Info> {
  const answer = await fetch(`${url}/blobs/demo`, { method: 'POST', body, headers, duplex: 'half' });
  assert.equal(answer.status, 201, await answer.clone().text());
  return (await answer.json()) as Info;
}

test(
  'a large file goes in and out whole, by parts too, and its URL is the one that is told',
  limits,
  async (t) => {
    const { url, instances } = await start(t);
    const content = randomBytes(20_000_000);
    const info = await upload(url, Readable.toWeb(Readable.from(pieces(content))) as ReadableStream, {
      'x-file-name': 'data.bin',
    });
    assert.equal(info.size, content.length);
    assert.equal(info.downloadUrl, `${url}/blobs/demo/${info.id}`);
    const [instance] = instances;
    assert.ok(readFileSync(join(instance?.folder ?? '', 'blobs', info.id)).equals(content));
    const got = await fetch(info.downloadUrl);
    assert.ok(Buffer.from(await got.arrayBuffer()).equals(content));
    assert.equal(got.headers.get('content-disposition'), 'attachment; filename="data.bin"');
    const part = await fetch(info.downloadUrl, { headers: { range: 'bytes=19999990-' } });
    assert.equal(part.status, 206);
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(content.subarray(-10)));
    assert.equal((await fetch(info.downloadUrl, { headers: { range: 'bytes=20000000-' } })).status, 416);
    assert.equal((await fetch(info.downloadUrl, { method: 'DELETE' })).status, 204);
    assert.equal((await fetch(info.downloadUrl)).status, 404);
  },
);

function* pieces(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += 100_000) yield content.subarray(at, at + 100_000);
}

test('every replica keeps its own, an id leads to its replica, and one list has all', limits, async (t) => {
  const { url, instances, tables } = await start(t, [0, 1]);
  const made: Info[] = [];
  for (let count = 0; count < 8; count++) made.push(await upload(url, `content ${count}`));
  const kept = instances.map(({ folder }) =>
    existsSync(join(folder, 'blobs')) ? readdirSync(join(folder, 'blobs')).length / 2 : 0,
  );
  assert.equal(
    kept.reduce((sum, count) => sum + count),
    8,
  );
  assert.ok(
    kept.every((count) => count > 0),
    `both replicas took some: ${kept}`,
  );
  for (const [count, { downloadUrl }] of made.entries())
    assert.equal(await (await fetch(downloadUrl)).text(), `content ${count}`);
  for (const { id } of made) {
    const uri = `ploinky://demo/blobs/${id}`;
    const read = await fetch(`${url}/mcps/demo/mcp`, {
      method: 'POST',
      headers: stateless(uri),
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'resources/read',
        params: { uri, _meta: statelessMeta },
      }),
    });
    assert.match(await read.text(), /content \d|Y29udGVudC/, uri);
  }
  const ids = made.map(({ id }) => id).sort();
  const list = async (query = '') =>
    (await (await fetch(`${url}/blobs/demo${query}`)).json()) as {
      blobs: Info[];
      next?: string;
      usage: object;
    };
  const whole = await list();
  assert.deepEqual(
    whole.blobs.map(({ id }) => id),
    ids,
  );
  assert.deepEqual(whole.usage, { bytes: 8 * 9, blobs: 8 });
  const first = await list('?limit=3');
  const second = await list(`?limit=10&after=${first.next}`);
  assert.deepEqual(
    [...first.blobs, ...second.blobs].map(({ id }) => id),
    ids,
  );
  const [one, other] = instances;
  assert.ok(one !== undefined && other !== undefined);
  tables.set([agentAt([one.endpoint({ ready: false }), other.endpoint()])]);
  const lost = made.find(({ id }) => id.endsWith('0000'));
  assert.equal((await fetch(lost?.downloadUrl ?? '')).status, 503);
});

test('a slow client is not buffered for: the agent waits', limits, async (t) => {
  const { url } = await start(t);
  const info = await upload(url, Buffer.alloc(64_000_000));
  const { host, hostname, port } = new URL(url);
  const before = process.memoryUsage().rss;
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.write(`GET /blobs/demo/${info.id} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 40_000_000, `${grown} bytes more for ${info.size}`);
  let came = 0;
  socket.on('data', (chunk) => {
    came += chunk.length;
  });
  socket.resume();
  await eventually('all of it comes', () => came > info.size, 20_000);
  socket.destroy();
});

test('a client that goes away in the middle leaves nothing', limits, async (t) => {
  const { url, instances } = await start(t);
  const folder = join(instances[0]?.folder ?? '', 'blobs');
  const sent = httpRequest(`${url}/blobs/demo`, {
    method: 'POST',
    headers: { 'content-length': 50_000_000 },
  });
  sent.on('error', () => undefined);
  sent.write(Buffer.alloc(5_000_000));
  await eventually('it has begun', () => existsSync(folder) && readdirSync(folder).length > 0);
  sent.destroy();
  await eventually('nothing is left', () => readdirSync(folder).length === 0);
});

test('what is no id, no agent or no method is refused, without an agent being asked', limits, async (t) => {
  const { url } = await start(t);
  assert.equal((await fetch(`${url}/blobs/demo/xyz`)).status, 400);
  assert.equal(
    (await fetch(`${url}/blobs/demo/${'a'.repeat(48)}`, { method: 'PUT', body: 'x' })).status,
    405,
  );
  assert.equal((await fetch(`${url}/blobs/other`, { method: 'POST', body: 'x' })).status, 404);
  assert.equal((await fetch(`${url}/blobs`, { method: 'POST', body: 'x' })).status, 404);
  const foreign = await fetch(`${url}/blobs/demo`, {
    method: 'POST',
    body: 'x',
    headers: { origin: 'http://evil.example' },
  });
  assert.equal(foreign.status, 403);
});

test('a refusal reaches a client that still sends', limits, async (t) => {
  const { url } = await start(t);
  for (let round = 0; round < 5; round++) {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { 'content-length': 6 * 1024 ** 3 };
      const sent = httpRequest(`${url}/blobs/demo`, { method: 'POST', headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
        sent.destroy();
      });
      sent.on('error', reject);
      const more = () => {
        while (!sent.destroyed && sent.write(Buffer.alloc(1_000_000)));
      };
      sent.on('drain', more);
      more();
    });
    assert.equal(status, 413);
  }
});
