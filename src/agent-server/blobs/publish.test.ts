import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../testing/harness.ts';
import { readBlobLimits } from './limits.ts';
import { publisher } from './publish.ts';
import type { Blobs } from './service.ts';
import type { BlobStore } from './store.ts';

/** Its store takes what comes when it is told that it may. */
async function stand(t: TestContext) {
  const workspace = await temporaryFolder(t);
  const { promise: mayTake, resolve: letTake } = Promise.withResolvers<void>();
  const taken: string[] = [];
  const put: BlobStore['put'] = async ({ filename, mime }, body) => {
    await mayTake;
    let text = '';
    for await (const part of body) text += part;
    taken.push(text);
    const sha256 = createHash('sha256').update(text).digest('hex');
    const [id, size, createdAt] = ['a'.repeat(48), text.length, new Date().toISOString()];
    return { id, mime, size, createdAt, agent: 'demo', filename, localPath: `blobs/${id}`, sha256 };
  };
  const blobs = { store: { put } as BlobStore, limits: readBlobLimits({}) } as Blobs;
  const open = publisher(blobs, 'demo', workspace);
  return { at: (name: string) => join(workspace, name), open, letTake, taken };
}

const given = (path: string) => ({ path, name: undefined, type: undefined, ttl: undefined });
const turn = () => new Promise((resolve) => setTimeout(resolve, 50));

test('a file is given as it was named, whatever its tool does to the name before its turn', async (t) => {
  const { at, open, letTake, taken } = await stand(t);
  letTake();
  writeFileSync(at('out.pdf'), 'first');
  const first = open(given('out.pdf'));
  await turn();
  writeFileSync(at('new'), 'second');
  renameSync(at('new'), at('out.pdf'));
  const second = open(given('out.pdf'));
  await turn();
  unlinkSync(at('out.pdf'));
  const { signal } = new AbortController();
  for (const file of [first, second])
    assert.equal((await file.publish(signal)).content.type, 'resource_link');
  assert.deepEqual(taken, ['first', 'second']);
  const late = await open(given('out.pdf')).publish(signal);
  assert.match(String(late.content['text']), /no file below the workspace/);
});

test('a copy that nobody wants any more stops, also before its store looks at it', async (t) => {
  const { at, open, letTake, taken } = await stand(t);
  writeFileSync(at('a'), 'x'.repeat(1000));
  const ends = new AbortController();
  const publishing = open(given('a')).publish(ends.signal);
  await turn();
  ends.abort();
  await turn();
  letTake();
  assert.match(String((await publishing).content['text']), /cannot be given/);
  assert.deepEqual(taken, []);
});
