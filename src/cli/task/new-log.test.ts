import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { newLogOf } from './new-log.ts';

test('of a log that only grows, the pieces make up the whole', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (pieces) => {
      let told = '';
      let shown = '';
      for (const [index] of pieces.entries()) {
        const now = pieces.slice(0, index + 1).join('');
        const { text, gap } = newLogOf(told, now, false);
        assert.equal(gap, false);
        shown += text;
        told = now;
      }
      assert.equal(shown, pieces.join(''));
    }),
  );
});

test('of a tail that moved on, what came behind the known part is new', () => {
  assert.deepEqual(newLogOf('one\ntwo\n', 'two\nthree\n', true), { text: 'two\nthree\n', gap: true });
  const known = `${'x'.repeat(2_000)}end\n`;
  assert.deepEqual(newLogOf(known, `${known.slice(900)}more\n`, true), { text: 'more\n', gap: false });
});

test('a tail in which nothing is known is told with a gap', () => {
  assert.deepEqual(newLogOf('old\n', 'entirely new\n', true), { text: 'entirely new\n', gap: true });
  assert.deepEqual(newLogOf('', 'the end of a long one\n', true), {
    text: 'the end of a long one\n',
    gap: true,
  });
});
