import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { eventually, temporaryFolder } from '../../testing/harness.ts';
import { createFolderStore } from '../folder-store.ts';
import { readBlobLimits } from '../limits.ts';
import { createHasher, type HasherOptions } from './hasher.ts';
import { startHashThread } from './thread.ts';

const limits = { timeout: 20_000 };
const mebibyte = 1024 * 1024;
const upload = {
  ...{ mime: 'application/octet-stream', filename: null, ttlSeconds: 0 },
  ...{ bytes: undefined, sha256: undefined, url: undefined },
};

/** A hasher with the threads that it started. */
function watched(t: TestContext, clock: HasherOptions['clock'] = systemClock) {
  const threads: Worker[] = [];
  const ended: number[] = [];
  const startThread = async () => {
    const thread = await startHashThread();
    const serial = threads.push(thread);
    thread.once('exit', () => ended.push(serial));
    return thread;
  };
  const hasher = createHasher({ clock, startThread });
  t.after(() => hasher.close());
  return { hasher, threads, ended };
}

async function storeIn(t: TestContext, hasher: ReturnType<typeof createHasher>) {
  const workspace = await temporaryFolder(t);
  await mkdir(join(workspace, 'blobs'));
  const store = createFolderStore({
    ...{ workspace, hasher, agent: 'demo', slot: undefined, limits: readBlobLimits({}) },
    ...{ clock: systemClock, random: systemRandom, idleMs: 10_000 },
  });
  return { store, workspace };
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

test('files that come at once are hashed by one thread, each by itself', limits, async (t) => {
  const { hasher, threads } = watched(t);
  const { store, workspace } = await storeIn(t, hasher);
  const contents = [0, 1, 300_000, 3 * mebibyte + 1].map((size) => randomBytes(size));
  const infos = await Promise.all(contents.map((content) => store.put(upload, Readable.from([content]))));
  assert.deepEqual(
    infos.map((info) => info.sha256),
    contents.map(sha256),
  );
  const kept = await Promise.all(infos.map(({ localPath }) => readFile(join(workspace, localPath))));
  assert.deepEqual(kept.map(sha256), contents.map(sha256));
  assert.equal(threads.length, 1);
});

test(
  'a thread that ends fails the uploads that need it, which leave nothing, and the next has another',
  limits,
  async (t) => {
    const { hasher, threads } = watched(t);
    const { store, workspace } = await storeIn(t, hasher);
    async function* body() {
      yield randomBytes(mebibyte);
      await eventually('a thread has started', () => threads.length > 0);
      await threads[0]?.terminate();
      for (let index = 0; index < 4; index += 1) yield randomBytes(mebibyte);
    }
    const failing = store.put(upload, Readable.from(body()));
    await assert.rejects(failing, { code: 'StoreFailed', message: /has ended/ });
    assert.deepEqual(await readdir(join(workspace, 'blobs')), []);
    const content = randomBytes(mebibyte);
    const { sha256: found } = await store.put(upload, Readable.from([content]));
    assert.equal(found, sha256(content));
    assert.equal(threads.length, 2);
  },
);

test('a thread that cannot start fails the upload', limits, async (t) => {
  const hasher = createHasher({
    clock: systemClock,
    startThread: async () => Promise.reject(new Error('full')),
  });
  const { store, workspace } = await storeIn(t, hasher);
  await assert.rejects(store.put(upload, Readable.from([randomBytes(mebibyte)])), { code: 'StoreFailed' });
  assert.deepEqual(await readdir(join(workspace, 'blobs')), []);
});

test('a thread ends when nothing has come for a while, and small files start none', limits, async (t) => {
  const clock = createFakeClock();
  const { hasher, threads, ended } = watched(t, clock);
  const small = hasher.begin(1000);
  await small.update([Buffer.from('x')]);
  assert.equal(await small.digest(), sha256(Buffer.from('x')));
  small.close();
  assert.equal(threads.length, 0);
  const [first, second] = [hasher.begin(undefined), hasher.begin(undefined)];
  await first.digest();
  first.close();
  await clock.advance(60_000);
  assert.deepEqual(ended, [], 'one still needs it');
  assert.equal(await second.digest(), sha256(Buffer.alloc(0)));
  second.close();
  await clock.advance(60_000);
  await eventually('the thread has ended', () => ended.length === 1);
  assert.equal(threads.length, 1);
});
