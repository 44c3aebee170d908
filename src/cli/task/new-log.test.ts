import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { newLogOf } from './new-log.ts';

const cut = { truncated: true, grown: true };

test('of a log that only grows, the pieces make up the whole', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (pieces) => {
      let told = '';
      let shown = '';
      for (const [index] of pieces.entries()) {
        const now = pieces.slice(0, index + 1).join('');
        const { text, gap } = newLogOf(told, now, { truncated: false, grown: true });
        assert.equal(gap, false);
        shown += text;
        told = now;
      }
      assert.equal(shown, pieces.join(''));
    }),
  );
});

test('of a tail that moved on, what came behind the known part is new', () => {
  assert.deepEqual(newLogOf('one\ntwo\n', 'two\nthree\n', cut), { text: 'two\nthree\n', gap: true });
  const known = `${'x'.repeat(2_000)}end\n`;
  assert.deepEqual(newLogOf(known, `${known.slice(900)}more\n`, cut), { text: 'more\n', gap: false });
});

test('a tail in which nothing is known is told with a gap', () => {
  assert.deepEqual(newLogOf('old\n', 'entirely new\n', cut), { text: 'entirely new\n', gap: true });
  assert.deepEqual(newLogOf('', 'the end of a long one\n', cut), {
    text: 'the end of a long one\n',
    gap: true,
  });
});

test('of a log that repeats itself something is told whenever something was written, and nothing twice', () => {
  const tailSize = 1_500;
  fc.assert(
    fc.property(fc.array(fc.constantFrom('tick\n', 'tock\n'), { minLength: 1 }), (pieces) => {
      let whole = 'tick\n'.repeat(400);
      for (const piece of pieces) {
        const before = whole.slice(-tailSize);
        whole += piece;
        const now = whole.slice(-tailSize);
        const { text, gap } = newLogOf(before, now, cut);
        assert.deepEqual([text, gap], [piece, false]);
        assert.deepEqual(newLogOf(now, now, { truncated: true, grown: false }), { text: '', gap: false });
      }
    }),
  );
});

test('a block that is written again is told, with what stands before it', () => {
  const block = `${Array.from({ length: 200 }, (_, at) => `line ${at}`).join('\n')}\n`;
  const before = `start\n${block}`;
  const now = `${before}between\n${block}`.slice(10);
  assert.deepEqual(newLogOf(before, now, cut), { text: `between\n${block}`, gap: false });
});

test('a tail that begins within a character goes on where it was', () => {
  const known = `é${'x'.repeat(2_000)}\n`;
  const now = Buffer.from(`${known}more\n`).subarray(1).toString('utf8');
  assert.deepEqual(newLogOf(known, now, cut), { text: 'more\n', gap: false });
});

test('a tail that is as it was, with nothing in it that repeats itself, has nothing new', () => {
  const tail = Array.from({ length: 1_000 }, (_, at) => `line ${at}`).join('\n');
  assert.deepEqual(newLogOf(tail, tail, cut), { text: '', gap: false });
});
