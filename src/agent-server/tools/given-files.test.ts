import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GivenFile } from '../blobs/publish.ts';
import { gatherGiven } from './given-files.ts';

const file = (path: string): GivenFile => ({ path, name: undefined, type: undefined, ttl: undefined });

function stand() {
  const copied: string[] = [];
  const takenBack: string[] = [];
  const stopped: string[] = [];
  let [running, most] = [0, 0];
  const opened: string[] = [];
  const closed: string[] = [];
  const publish = async (path: string, signal: AbortSignal) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (signal.aborted) stopped.push(path);
    copied.push(path);
    return {
      content: { type: 'text', text: path },
      takeBack: async () => {
        takenBack.push(path);
      },
    };
  };
  const given = gatherGiven(({ path }) => {
    opened.push(path);
    return {
      publish: (signal) => publish(path, signal),
      close: async () => {
        closed.push(path);
      },
    };
  });
  return { given, opened, closed, stopped, copied, takenBack, most: () => most };
}

test('files of a call are copied one after the other, and no more than a hundred', async () => {
  const { given, opened, takenBack, most } = stand();
  for (let index = 0; index < 120; index += 1) given.add(file(String(index)));
  // Their tool may have removed them by the time that it is their turn.
  assert.equal(opened.length, 100);
  const texts = (await given.taken()).map(({ text }) => text);
  assert.deepEqual(
    texts,
    Array.from({ length: 100 }, (_, index) => String(index)),
  );
  assert.equal(most(), 1);
  assert.deepEqual(takenBack, []);
});

test('of a call that came to nothing no file stays, and what waits is not copied', async () => {
  const { given, closed, copied, stopped, takenBack } = stand();
  for (const path of ['a', 'b', 'c']) given.add(file(path));
  await new Promise((resolve) => setImmediate(resolve));
  await given.drop();
  assert.ok(copied.length >= 1 && copied.length < 3, String(copied));
  assert.deepEqual(takenBack, copied);
  assert.deepEqual([...copied, ...closed], ['a', 'b', 'c']);
  assert.ok(stopped.every((path) => copied.includes(path)) && stopped.length <= 1, String(stopped));
});
