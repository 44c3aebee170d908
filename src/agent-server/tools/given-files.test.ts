import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GivenFile } from '../blobs/publish.ts';
import { gatherGiven } from './given-files.ts';

const file = (path: string): GivenFile => ({ path, name: undefined, type: undefined, ttl: undefined });

function stand() {
  const copied: string[] = [];
  const takenBack: string[] = [];
  let [running, most] = [0, 0];
  const given = gatherGiven(async ({ path }) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    copied.push(path);
    return {
      content: { type: 'text', text: path },
      takeBack: async () => {
        takenBack.push(path);
      },
    };
  });
  return { given, copied, takenBack, most: () => most };
}

test('files of a call are copied one after the other, and no more than a hundred', async () => {
  const { given, takenBack, most } = stand();
  for (let index = 0; index < 120; index += 1) given.add(file(String(index)));
  const texts = (await given.taken()).map(({ text }) => text);
  assert.deepEqual(
    texts,
    Array.from({ length: 100 }, (_, index) => String(index)),
  );
  assert.equal(most(), 1);
  assert.deepEqual(takenBack, []);
});

test('of a call that came to nothing no file stays, and what waits is not copied', async () => {
  const { given, copied, takenBack } = stand();
  for (const path of ['a', 'b', 'c']) given.add(file(path));
  await new Promise((resolve) => setImmediate(resolve));
  await given.drop();
  assert.ok(copied.length >= 1 && copied.length < 3, String(copied));
  assert.deepEqual(takenBack, copied);
});
