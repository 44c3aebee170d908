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
import { eventually, temporaryFolder, testServer } from '../testing/harness.ts';
import { testsOfEveryStore, upload } from './testing/contract.ts';

const limits = { timeout: 30_000 };
const none = 'f'.repeat(4);

async function serverIn(t: TestContext, blobs: Record<string, number> = {}) {
  const code = await temporaryFolder(t);
  return testServer(t, { code, blobs: { limits: blobs } });
}

testsOfEveryStore(async (t, blobs = {}, settings = {}, options = {}) => {
  const code = await temporaryFolder(t);
  const server = await testServer(t, { code, limits: settings, blobs: { limits: blobs } }, options);
  const names = () => readdirSync(join(code, 'blobs')).filter((name) => !name.endsWith('.json'));
  return { ...server, kept: async () => names() };
});

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
