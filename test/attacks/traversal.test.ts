import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { agentAt, startInstance, startReplica } from '#test/contract/router/replicas.ts';
import { masterKey } from '#wire/testing.ts';
import { ask } from './traversal/ask.ts';
import { tryAll } from './traversal/corpus.ts';
import { naiveServer } from './traversal/naive.ts';
import { encodings, traversals } from './traversal/payloads.ts';

// Paths that lead out of an agent's folder, through a real router and agent-server, each way beside a server or a
// program on which it works. Run as a program with `--whole` it takes every line of the lists.

const canary = 'canary-7f3a';
const masters = [masterKey(1)];
const limits = { timeout: 600_000 };
/** Each so many-th of the lines; 1 with the whole corpora. */
const every = process.argv.includes('--whole') ? 1 : 41;

async function stand(t: TestContext) {
  const outside = mkdtempSync(join(tmpdir(), 'outside-'));
  t.after(() => rmSync(outside, { recursive: true, force: true }));
  writeFileSync(join(outside, 'canary.txt'), canary);
  const instance = await startInstance(t, 'uid-0', masters);
  const { folder } = instance;
  const beside = join(folder, '../canary.txt');
  writeFileSync(beside, canary);
  t.after(() => rmSync(beside, { force: true }));
  writeFileSync(join(folder, 'page.txt'), 'a page');
  mkdirSync(join(folder, 'blobs'));
  const { url } = await startReplica(t, [agentAt([instance.endpoint()])], masters);
  assert.match((await ask(url, '/demo/page.txt')).text, /a page/);
  return { url, folder, outside };
}

async function startNaive(t: TestContext, folder: string): Promise<string> {
  const server = naiveServer(folder).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const probe = traversals(['canary.txt']);
const skip = 'missing' in probe ? probe.missing : false;

test('the lists of others, in every encoding, get nothing from outside', { ...limits, skip }, async (t) => {
  const { url, folder, outside } = await stand(t);
  const found = traversals(['canary.txt', join(outside, 'canary.txt').slice(1)]);
  assert.ok('lines' in found);
  const naive = await startNaive(t, folder);
  const control = await tryAll(found.lines, ['/demo/'], Math.min(every, 11), (path) => ask(naive, path));
  for (const encoding of Object.keys(encodings))
    assert.ok((control.leaksOf[encoding] ?? 0) > 0, `control: ${encoding} works on a naive server`);
  const prefixes = ['/demo/', '/demo', '/', '/blobs/demo/', '/blobs/'];
  const ours = await tryAll(found.lines, prefixes, every, (path) => ask(url, path));
  t.diagnostic(
    `${ours.requests} requests; the naive server gave ${control.leaks.length} of ${control.requests}`,
  );
  assert.deepEqual(ours.leaks, []);
  assert.deepEqual(ours.hangs, []);
});

test(
  'links, hard links, FIFOs and devices in the folder give nothing from outside, and nobody waits',
  limits,
  async (t) => {
    const { url, folder, outside } = await stand(t);
    const secret = join(outside, 'canary.txt');
    const blob = `${'a'.repeat(44)}ffff`;
    const at = (name: string) => join(folder, name);
    symlinkSync(secret, at('link.txt'));
    symlinkSync(outside, at('linked'));
    symlinkSync('link.txt', at('twice.txt'));
    symlinkSync('/proc/self/environ', at('environ.txt'));
    symlinkSync('/proc/self/root', at('root'));
    linkSync(secret, at('hard.txt'));
    for (const name of ['link.txt', 'linked/canary.txt', 'twice.txt', 'hard.txt', `root${secret}`])
      assert.equal(readFileSync(at(name), 'utf8'), canary, `control: ${name}`);
    execFileSync('mkfifo', [at('fifo.txt')]);
    assert.equal(
      spawnSync('timeout', ['0.3', 'cat', at('fifo.txt')]).status,
      124,
      'control: a FIFO is waited for',
    );
    if (process.getuid?.() === 0) execFileSync('mknod', [at('zero.txt'), 'c', '1', '5']);
    const names = ['link.txt', 'linked/canary.txt', 'twice.txt', 'environ.txt', 'hard.txt', `root${secret}`];
    for (const name of [...names, 'fifo.txt', 'zero.txt']) {
      const { text, hung } = await ask(url, `/demo/${name}`, 3_000);
      assert.match(text, /^HTTP\/1\.1 404/, name);
      assert.equal(hung, false, name);
    }
    const info = {
      id: blob,
      mime: 'text/plain',
      createdAt: new Date(0).toISOString(),
      sha256: 'a'.repeat(64),
    };
    writeFileSync(at(`blobs/${blob}.json`), JSON.stringify(info));
    for (const make of [
      () => symlinkSync(secret, at(`blobs/${blob}`)),
      () => linkSync(secret, at(`blobs/${blob}`)),
      () => execFileSync('mkfifo', [at(`blobs/${blob}`)]),
    ]) {
      make();
      const { text, hung } = await ask(url, `/blobs/demo/${blob}`, 3_000);
      assert.match(text, /^HTTP\/1\.1 404/);
      assert.equal(hung, false);
      rmSync(at(`blobs/${blob}`));
    }
    writeFileSync(at(`blobs/${blob}`), 'a blob');
    assert.match((await ask(url, `/blobs/demo/${blob}`)).text, /a blob$/);
  },
);

test('what is swapped for a link while it is opened gives nothing from outside', limits, async (t) => {
  const { url, folder, outside } = await stand(t);
  const blob = `${'b'.repeat(44)}ffff`;
  const info = { id: blob, mime: 'text/plain', createdAt: new Date(0).toISOString(), sha256: 'a'.repeat(64) };
  writeFileSync(join(folder, `blobs/${blob}.json`), JSON.stringify(info));
  const secret = join(outside, 'canary.txt');
  for (const [path, target, name, asked] of [
    ['race.txt', secret, 'race.txt', '/demo/race.txt'],
    ['race', outside, 'race/canary.txt', '/demo/race/canary.txt'],
    [`blobs/${blob}`, secret, `blobs/${blob}`, `/blobs/demo/${blob}`],
  ] as const) {
    const swapper = join(import.meta.dirname, 'traversal/swapper.mjs');
    const child = spawn(process.execPath, [swapper, join(folder, path), 'harmless', target]);
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    assert.ok(await leaksWhenChecked(join(folder, name), join(folder, path)), `control: ${asked}`);
    let served = 0;
    for (let round = 0; round < 150; round++) {
      const { text, hung } = await ask(url, asked, 5_000);
      assert.ok(!text.includes(canary) && !hung, text);
      if (text.includes('harmless')) served += 1;
    }
    t.diagnostic(`${asked}: ${served} of 150 were what may be served`);
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

/** A server that looks first and opens then: true when it ever reads what it should not. */
async function leaksWhenChecked(file: string, path: string): Promise<boolean> {
  const end = performance.now() + 30_000;
  while (performance.now() < end) {
    try {
      if ((await lstat(path)).isSymbolicLink()) continue;
      if ((await readFile(file, 'utf8')).includes(canary)) return true;
    } catch {
      // It was gone for a moment.
    }
  }
  return false;
}
