import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { bindBlob } from '#wire/binding.ts';
import { type Answer, eventually, temporaryFolder, testServer, tokenFor } from '../testing/harness.ts';

const limits = { timeout: 30_000 };
const none = 'f'.repeat(4);

async function upload(
  server: { send: Awaited<ReturnType<typeof testServer>>['send'] },
  content: string,
  headers: Record<string, string> = {},
  query = '',
): Promise<Answer & { info: Record<string, string> }> {
  const answer = await server.send('POST', `/blobs${query}`, headers, content);
  return { ...answer, info: answer.json as unknown as Record<string, string> };
}

async function serverIn(t: TestContext, blobs: Record<string, number> = {}) {
  const code = await temporaryFolder(t);
  return testServer(t, { code, blobs: { limits: blobs } });
}

test('what is uploaded is a file of the workspace, and comes back as it went', limits, async (t) => {
  const server = await serverIn(t);
  const headers = { 'x-mime-type': 'text/plain', 'x-file-name': 'z%C3%A4hne.txt', 'content-type': 'a/b' };
  const { status, info } = await upload(server, 'hello', headers);
  assert.equal(status, 201);
  const { id = '' } = info;
  assert.match(id, /^[0-9a-f]{44}ffff$/);
  assert.equal(info['localPath'], `blobs/${id}`);
  assert.equal(info['filename'], 'zähne.txt');
  assert.equal(info['size'], 5);
  assert.equal(info['mime'], 'text/plain');
  assert.equal(info['agent'], 'demo');
  assert.equal(info['sha256'], createHash('sha256').update('hello').digest('hex'));
  assert.equal(readFileSync(join(server.code, 'blobs', id), 'utf8'), 'hello');
  assert.equal(JSON.parse(readFileSync(join(server.code, 'blobs', `${id}.json`), 'utf8')).mime, 'text/plain');
  assert.deepEqual(readdirSync(join(server.code, 'blobs')).sort(), [id, `${id}.json`]);

  const got = await server.send('GET', `/blobs/${id}`);
  assert.equal(got.status, 200);
  assert.equal(got.text, 'hello');
  assert.equal(got.headers['content-type'], 'text/plain');
  assert.equal(got.headers['accept-ranges'], 'bytes');
  assert.equal(got.headers['x-content-type-options'], 'nosniff');
  assert.equal(
    got.headers['content-disposition'],
    `attachment; filename="z_hne.txt"; filename*=UTF-8''z%C3%A4hne.txt`,
  );
  assert.match(String(got.headers['content-security-policy']), /sandbox/);
  const head = await server.send('HEAD', `/blobs/${id}`);
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
  assert.equal(head.headers['content-length'], '5');
});

test(
  'ranges: a part, from, the last, beyond the end, none of it, and what is no range',
  limits,
  async (t) => {
    const server = await serverIn(t);
    const { info } = await upload(server, '0123456789');
    const range = async (text: string, more: Record<string, string> = {}) =>
      server.send('GET', `/blobs/${info['id']}`, { range: text, ...more });
    for (const [text, part, of] of [
      ['bytes=2-4', '234', 'bytes 2-4/10'],
      ['bytes=7-', '789', 'bytes 7-9/10'],
      ['bytes=-4', '6789', 'bytes 6-9/10'],
      ['bytes=-99', '0123456789', 'bytes 0-9/10'],
      ['bytes=5-99', '56789', 'bytes 5-9/10'],
    ] as const) {
      const answer = await range(text);
      assert.equal(answer.status, 206, text);
      assert.equal(answer.text, part, text);
      assert.equal(answer.headers['content-range'], of, text);
    }
    for (const text of ['bytes=10-', 'bytes=-0', 'bytes=99-100']) {
      const answer = await range(text);
      assert.equal(answer.status, 416, text);
      assert.equal(answer.headers['content-range'], 'bytes */10');
    }
    for (const text of ['bytes=4-2', 'lines=1-2', 'bytes=a-b', 'bytes=0-1,3-4', 'bytes=-'])
      assert.equal((await range(text)).status, 200, text);
    assert.equal((await range('bytes=0-1', { 'if-range': '"other"' })).status, 200);
  },
);

test(
  'conditions: unchanged is 304, changed is 412, If-Range of the same version gives the part',
  limits,
  async (t) => {
    const server = await serverIn(t);
    const { info } = await upload(server, 'content');
    const path = `/blobs/${info['id']}`;
    const first = await server.send('GET', path);
    const etag = String(first.headers['etag']);
    const modified = String(first.headers['last-modified']);
    const get = async (headers: Record<string, string>) => (await server.send('GET', path, headers)).status;
    assert.equal(await get({ 'if-none-match': etag }), 304);
    assert.equal(await get({ 'if-none-match': `"x", W/${etag}` }), 304);
    assert.equal(await get({ 'if-none-match': '"x"' }), 200);
    assert.equal(await get({ 'if-modified-since': modified }), 304);
    assert.equal(await get({ 'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }), 200);
    assert.equal(await get({ 'if-match': '"x"' }), 412);
    assert.equal(await get({ 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }), 412);
    assert.equal(await get({ range: 'bytes=0-0', 'if-range': etag }), 206);
    assert.equal(await get({ range: 'bytes=0-0', 'if-range': modified }), 206);
  },
);

test('ids that are none are refused, and what is not there is 404', limits, async (t) => {
  const server = await serverIn(t);
  for (const id of ['x', '..', '%2e%2e', 'a'.repeat(47), 'A'.repeat(48), `${'a'.repeat(48)}/x`]) {
    const answer = await server.send('GET', `/blobs/${id}`);
    assert.equal(answer.status, 400, id);
    assert.equal(answer.text, 'Bad id');
  }
  assert.equal((await server.send('GET', `/blobs/${'a'.repeat(44)}${none}`)).status, 404);
  assert.equal((await server.send('DELETE', `/blobs/${'a'.repeat(44)}${none}`)).status, 404);
});

test('they can be listed page by page, and deleted', limits, async (t) => {
  const server = await serverIn(t);
  const ids: string[] = [];
  for (const text of ['a', 'bb', 'ccc']) ids.push((await upload(server, text)).info['id'] ?? '');
  ids.sort();
  const first = (await server.send('GET', '/blobs?limit=2')).json as unknown as {
    blobs: { id: string }[];
    next: string;
    usage: object;
  };
  assert.deepEqual(
    first.blobs.map(({ id }) => id),
    ids.slice(0, 2),
  );
  assert.deepEqual(first.usage, { bytes: 6, blobs: 3 });
  const rest = (await server.send('GET', `/blobs?limit=2&after=${first.next}`))
    .json as unknown as typeof first;
  assert.deepEqual(
    rest.blobs.map(({ id }) => id),
    ids.slice(2),
  );
  assert.equal(rest.next, undefined);
  assert.equal((await server.send('DELETE', `/blobs/${ids[0]}`)).status, 204);
  assert.equal((await server.send('GET', `/blobs/${ids[0]}`)).status, 404);
  assert.deepEqual(readdirSync(join(server.code, 'blobs')).length, 4);
});

test(
  'limits of one blob, of all, and of their number hold, for bodies of unknown length too',
  limits,
  async (t) => {
    const server = await serverIn(t, { maxBlobBytes: 100, maxBytes: 150, maxBlobs: 2 });
    assert.equal((await upload(server, 'x'.repeat(101))).status, 413);
    const chunked = { 'transfer-encoding': 'chunked' };
    assert.equal((await upload(server, 'x'.repeat(101), chunked)).status, 413);
    assert.equal((await upload(server, 'x'.repeat(100))).status, 201);
    const over = await upload(server, 'x'.repeat(51), chunked);
    assert.equal(over.status, 507);
    assert.equal(over.info['error'], 'QuotaExceeded');
    const kept = await upload(server, 'x'.repeat(50));
    assert.equal(kept.status, 201);
    assert.equal((await upload(server, '')).info['error'], 'TooManyBlobs');
    assert.equal((await server.send('DELETE', `/blobs/${kept.info['id']}`)).status, 204);
    assert.equal((await upload(server, 'x'.repeat(50))).status, 201);
    assert.equal(readdirSync(join(server.code, 'blobs')).filter((name) => name.endsWith('.part')).length, 0);
  },
);

test('who sends too much is told so while it still sends', limits, async (t) => {
  const server = await serverIn(t, { maxBlobBytes: 1000 });
  for (let round = 0; round < 5; round++)
    assert.equal((await upload(server, 'x'.repeat(9_000_000))).status, 413);
});

test('a digest that is said is checked, and a wrong one leaves nothing', limits, async (t) => {
  const server = await serverIn(t);
  const digest = (text: string) => `sha-256=:${createHash('sha256').update(text).digest('base64')}:`;
  assert.equal((await upload(server, 'abc', { 'repr-digest': digest('abc') })).status, 201);
  assert.equal(
    (await upload(server, 'abc', { 'content-digest': digest('abd') })).info['error'],
    'DigestMismatch',
  );
  assert.equal((await upload(server, 'abc', { 'repr-digest': 'sha-256=abc' })).status, 400);
  assert.equal(readdirSync(join(server.code, 'blobs')).length, 2);
});

test(
  'an upload that breaks off leaves nothing, and what a crash left is removed at the start',
  limits,
  async (t) => {
    const code = await temporaryFolder(t);
    const folder = join(code, 'blobs');
    mkdirSync(folder);
    const left = 'b'.repeat(44) + none;
    writeFileSync(join(folder, `${left}.part`), 'half');
    writeFileSync(join(folder, `${'c'.repeat(44)}${none}.json`), '{}');
    writeFileSync(join(folder, 'notes.txt'), 'of the agent');
    const server = await testServer(t, { code });
    await eventually('the rest of a crash is gone', () => readdirSync(folder).join() === 'notes.txt');
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write('POST /blobs HTTP/1.1\r\nhost: x\r\ncontent-length: 5000000\r\n\r\n');
    socket.write(Buffer.alloc(2_000_000));
    await eventually('a part is there', () => readdirSync(folder).some((name) => name.endsWith('.part')));
    socket.destroy();
    await eventually('the part is gone', () => readdirSync(folder).join() === 'notes.txt');
  },
);

test('a full disk answers 507 and leaves nothing', { ...limits, skip: smallDiskMissing() }, async (t) => {
  const code = mkdtempSync(join(tmpdir(), 'small-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', code]);
  const server = await testServer(t, { code });
  t.after(() => execFileSync('umount', ['-l', code]));
  t.after(() => rmSync(code, { recursive: true }));
  const full = await upload(server, 'x'.repeat(4_000_000));
  assert.equal(full.status, 507);
  assert.equal(full.info['error'], 'DiskFull');
  assert.deepEqual(readdirSync(join(code, 'blobs')), []);
  assert.equal((await upload(server, 'x'.repeat(1_000_000))).status, 201);
});

function smallDiskMissing(): string | false {
  return process.platform === 'linux' && process.getuid?.() === 0
    ? false
    : 'needs root to mount a small disk';
}

test('a blob whose time is over is not given, and is removed', limits, async (t) => {
  const server = await testServer(t, { code: await temporaryFolder(t), limits: { blobSweepMs: 50 } });
  const { info } = await upload(server, 'short', {}, '?ttl=1');
  assert.equal((await server.send('GET', `/blobs/${info['id']}`)).status, 200);
  assert.ok(Date.parse(info['expiresAt'] ?? '') > Date.parse(info['createdAt'] ?? ''));
  await eventually('it is gone', () => readdirSync(join(server.code, 'blobs')).length === 0);
  assert.equal((await server.send('GET', `/blobs/${info['id']}`)).status, 404);
});

test('what the agent puts in the place of a blob leads nowhere', limits, async (t) => {
  const server = await serverIn(t);
  const secret = join(await temporaryFolder(t), 'secret');
  writeFileSync(secret, 'canary');
  const { info } = await upload(server, 'mine');
  const path = join(server.code, 'blobs', info['id'] ?? '');
  const get = async () => (await server.send('GET', `/blobs/${info['id']}`)).text;
  const ways: Record<string, () => void> = {
    link: () => symlinkSync(secret, path),
    'hard link': () => linkSync(secret, path),
    folder: () => mkdirSync(path),
    FIFO: () => execFileSync('mkfifo', [path]),
  };
  for (const [way, put] of Object.entries(ways)) {
    renameSync(path, `${path}.${way}`);
    put();
    if (way.endsWith('link')) assert.equal(readFileSync(path, 'utf8'), 'canary', `control: ${way}`);
    assert.equal(await get(), 'Not Found', way);
    execFileSync('rm', ['-rf', path]);
    renameSync(`${path}.${way}`, path);
    assert.equal(await get(), 'mine');
  }
  renameSync(join(server.code, 'blobs'), join(server.code, 'aside'));
  symlinkSync(join(server.code, 'aside'), join(server.code, 'blobs'));
  assert.equal(await get(), 'Not Found', 'a linked folder');
});

test('without a token for exactly this request nothing is taken or given', limits, async (t) => {
  const server = await testServer(t, { code: await temporaryFolder(t) }, { withoutTokens: false });
  assert.equal((await server.send('GET', '/blobs')).status, 401);
  const bearer = (method: string, path: string) => ({
    authorization: `Bearer ${tokenFor(bindBlob(method, path, ''))}`,
  });
  assert.equal((await server.send('POST', '/blobs', bearer('GET', '/blobs'), 'x')).status, 401);
  assert.equal((await server.send('POST', '/blobs', bearer('POST', '/blobs'), 'x')).status, 201);
  assert.equal((await server.send('GET', '/blobs', bearer('GET', '/blobs'))).status, 200);
});
