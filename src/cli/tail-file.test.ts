import assert from 'node:assert/strict';
import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '#kit/clock.ts';
import { tailFile } from './tail-file.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tail-'));
});
after(() => rm(folder, { recursive: true }));

const never = new AbortController().signal;
async function tail(path: string, lines: number): Promise<string> {
  let text = '';
  for await (const piece of tailFile(path, { lines, follow: false, clock: systemClock, signal: never })) {
    text += piece;
  }
  return text;
}

test('the last lines, whatever their number and length, with or without a final line end', async () => {
  const path = join(folder, 'a.log');
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.string({ maxLength: 30 }).map((line) => line.replaceAll('\n', '')),
        { maxLength: 20 },
      ),
      fc.boolean(),
      fc.nat(25),
      async (lines, ends, wanted) => {
        const text = lines.map((line) => `${line}\n`).join('');
        const content = ends ? text : `${text}tail`;
        await writeFile(path, content);
        const all = content.split(/(?<=\n)/).filter((line) => line !== '');
        assert.equal(await tail(path, wanted), wanted === 0 ? '' : all.slice(-wanted).join(''));
      },
    ),
    { numRuns: 200 },
  );
});

test('a file larger than a read is cut at the right line', async () => {
  const path = join(folder, 'big.log');
  const lines = Array.from({ length: 30_000 }, (_, index) => `line ${index} ä`);
  await writeFile(path, `${lines.join('\n')}\n`);
  assert.equal(await tail(path, 10_000), `${lines.slice(-10_000).join('\n')}\n`);
});

test('a missing file is empty', async () => {
  assert.equal(await tail(join(folder, 'none.log'), 10), '');
});

test('following shows what is appended, also after a rotation', { timeout: 20_000 }, async () => {
  const path = join(folder, 'f.log');
  await writeFile(path, 'one\ntwo\n');
  const stop = new AbortController();
  let text = '';
  const seen = async (part: string) => {
    while (!text.includes(part)) await systemClock.sleep(20);
  };
  const reading = (async () => {
    const options = { lines: 1, follow: true, clock: systemClock, signal: stop.signal };
    for await (const piece of tailFile(path, options)) text += piece;
  })();
  await seen('two');
  await appendFile(path, 'three\n');
  await seen('three');
  await rename(path, `${path}.1`);
  await writeFile(path, 'four\n');
  await seen('four');
  stop.abort();
  await reading;
  assert.equal(text, 'two\nthree\nfour\n');
});
