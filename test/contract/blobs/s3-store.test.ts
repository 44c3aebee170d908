import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { after, type TestContext, test } from 'node:test';
import { readBlobLimits } from '#agent-server/blobs/limits.ts';
import { createS3Client, type S3Client } from '#agent-server/blobs/s3/client.ts';
import { createS3Store, type S3StoreOptions } from '#agent-server/blobs/s3/s3-store.ts';
import type { BlobStore } from '#agent-server/blobs/store.ts';
import { eventually, temporaryFolder } from '#agent-server/testing/harness.ts';
import { type Clock, systemClock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import type { BlobInfo } from '#wire/blobs.ts';
import { type Bucket, startBucket } from './versitygw.ts';

const started = await startBucket();
const skip = typeof started === 'string' ? started : false;
const bucket = started as Bucket;
const agent = new Agent({ keepAlive: true });
after(async () => {
  agent.destroy();
  if (!skip) await bucket.close();
});
const settings = { timeout: 60_000, skip };

let prefixes = 0;

interface Stand {
  readonly store: BlobStore;
  /** How often the bucket was listed. */
  lists(): number;
  /** Lets so many milliseconds pass. */
  pass(ms: number): void;
  readonly warnings: string[];
  put(content: string | Readable, changes?: { id?: string; ttlSeconds?: number }): Promise<BlobInfo>;
}

interface Changes extends Partial<S3StoreOptions> {
  /** What happens before a request. */
  readonly before?: (order: Parameters<S3Client['ask']>[0]) => Promise<void>;
}

const newPrefix = () => `store-${++prefixes}/`;

async function stand(t: TestContext, prefix: string, changes: Changes = {}): Promise<Stand> {
  const { endpoint, name, accessKeyId, secretAccessKey } = bucket;
  let passed = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + passed,
    monotonic: () => systemClock.monotonic() + passed,
  };
  const place = { endpoint: new URL(endpoint), bucket: name, region: 'us-east-1', pathStyle: true };
  const credentials = () => ({ accessKeyId, secretAccessKey });
  const real = createS3Client({ place, credentials, agent, clock: systemClock, idleMs: 10_000 });
  let lists = 0;
  const client: S3Client = {
    async ask(order) {
      if (order.query?.['list-type'] !== undefined) lists += 1;
      await changes.before?.(order);
      return real.ask(order);
    },
    open: (order) => real.open(order),
  };
  const warnings: string[] = [];
  const warn = (message: string) => warnings.push(message);
  const log: Log = { debug: () => {}, info: () => {}, warn, error: warn, with: () => log };
  const mebibyte = 1024 * 1024;
  const store = createS3Store({
    ...{ client, downloads: client, prefix, namespace: 'default', agent: 'demo', clock, log },
    ...{ workspace: await temporaryFolder(t), random: systemRandom, idleMs: 10_000 },
    ...{ bufferBytes: 64 * mebibyte, copyBytes: 64 * mebibyte, limits: readBlobLimits({}) },
    ...changes,
  });
  const put: Stand['put'] = (content, { id, ttlSeconds = 0 } = {}) => {
    const body = typeof content === 'string' ? Readable.from([Buffer.from(content)]) : content;
    const about = { mime: 'text/plain', filename: null, bytes: undefined, sha256: undefined, url: undefined };
    return store.put({ ...about, ttlSeconds, ...(id !== undefined && { id }) }, body);
  };
  return { store, put, warnings, lists: () => lists, pass: (ms) => (passed += ms) };
}

test('what another replica removed counts no more, also while uploads are under way', settings, async (t) => {
  const prefix = newPrefix();
  const [one, other] = [await stand(t, prefix), await stand(t, prefix)];
  const { id } = await one.put('0123456789');
  assert.deepEqual(await other.store.usage(), { bytes: 10, blobs: 1 });
  const slow = new PassThrough();
  const coming = other.put(slow);
  await eventually('it has its place', async () => (await other.store.usage()).blobs === 2);
  assert.equal(await one.store.remove(id), true);
  await other.store.sweep();
  assert.deepEqual(await other.store.usage(), { bytes: 0, blobs: 1 });
  slow.end('abc');
  await coming;
  assert.deepEqual(await other.store.usage(), { bytes: 3, blobs: 1 });
  await other.store.sweep();
  assert.deepEqual(await other.store.usage(), { bytes: 3, blobs: 1 });
});

test('one blob that two remove at once gives its place back once', settings, async (t) => {
  const { store, put } = await stand(t, newPrefix());
  const { id } = await put('0123456789');
  await put('abc');
  const gone = await Promise.all([store.remove(id), store.remove(id), store.remove(id)]);
  assert.equal(gone.filter((was) => was).length, 1);
  assert.deepEqual(await store.usage(), { bytes: 3, blobs: 1 });
});

test('an upload whose description cannot be written gives its place back once', settings, async (t) => {
  let broken = false;
  const { store, put } = await stand(t, newPrefix(), {
    async before({ method, key }) {
      if (broken && method === 'PUT' && key.includes('/info/')) throw new Error('the store is away');
    },
  });
  await put('0123456789');
  broken = true;
  await assert.rejects(put('abc'));
  assert.deepEqual(await store.usage(), { bytes: 10, blobs: 1 });
  await store.sweep();
  assert.deepEqual(await store.usage(), { bytes: 10, blobs: 1 });
});

test('what was put anew under its id stays until its own end', settings, async (t) => {
  const { store, put, pass } = await stand(t, newPrefix());
  const id = `${'ab'.repeat(22)}ffff`;
  await put('old', { id, ttlSeconds: 10 });
  pass(11_000);
  assert.equal(await store.find(id), undefined);
  await put('anew', { id, ttlSeconds: 100 });
  await store.sweep();
  const found = await store.find(id);
  assert.equal(String(await found?.read()), 'anew');
  assert.deepEqual(await store.usage(), { bytes: 4, blobs: 1 });
  pass(101_000);
  await store.sweep();
  assert.deepEqual(await store.usage(), { bytes: 0, blobs: 0 });
  assert.deepEqual(await bucket.files(`store-${prefixes}/`), []);
});

test('a full bucket is not looked through for each of many uploads', settings, async (t) => {
  const limits = readBlobLimits({ maxBlobs: 1 });
  const { put, lists, pass, store } = await stand(t, newPrefix(), { limits });
  await put('x');
  const before = lists();
  const refused = Array.from({ length: 20 }, () => assert.rejects(put('y'), { code: 'TooManyBlobs' }));
  await Promise.all(refused);
  await assert.rejects(put('y'), { code: 'TooManyBlobs' });
  const ofOne = lists() - before;
  assert.ok(ofOne <= 3, String(ofOne));
  pass(10_001);
  await assert.rejects(put('y'), { code: 'TooManyBlobs' });
  assert.equal(lists() - before, 2 * ofOne);
  await store.sweep();
  assert.equal(lists() - before, 3 * ofOne);
});

test(
  'where broken uploads cannot be listed the rest is looked after, and it is said',
  settings,
  async (t) => {
    const { store, put, pass, warnings } = await stand(t, newPrefix(), {
      async before({ query }) {
        if (query?.['uploads'] !== undefined) throw new Error('HTTP 403 AccessDenied');
      },
    });
    await put('x', { ttlSeconds: 1 });
    pass(2000);
    await store.sweep();
    assert.deepEqual(await store.usage(), { bytes: 0, blobs: 0 });
    assert.deepEqual(warnings, ['Broken uploads could not be looked for']);
  },
);

test('slow uploads hold no more memory than there is; small ones go on', settings, async (t) => {
  const bufferBytes = 17 * 1024 * 1024;
  const { put, store } = await stand(t, newPrefix(), { bufferBytes, idleMs: 500 });
  const slow = new PassThrough();
  const first = put(slow);
  const dripping = setInterval(() => slow.write('x'), 100);
  t.after(() => clearInterval(dripping));
  await eventually('it has begun', async () => (await store.usage()).blobs === 1);
  await assert.rejects(put(new PassThrough()), { code: 'Busy' });
  const about = { mime: 'text/plain', filename: null, ttlSeconds: 0, sha256: undefined, url: undefined };
  await store.put({ ...about, bytes: 5 }, Readable.from([Buffer.from('small')]));
  clearInterval(dripping);
  slow.end();
  await first;
  await put('as much as there is');
});
