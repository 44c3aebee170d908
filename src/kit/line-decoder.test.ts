import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createLineDecoder } from './line-decoder.ts';

/** Cuts `bytes` at the given places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const borders = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].sort(
    (x, y) => x - y,
  );
  return borders.slice(1).map((end, i) => bytes.subarray(borders[i], end));
}

describe('the line decoder', () => {
  test('gives the same lines wherever the chunks are cut, in characters too', () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => text.replaceAll('\n', ' '));
    fc.assert(
      fc.property(fc.array(line), line, fc.array(fc.nat(2_000)), (lines, rest, places) => {
        const bytes = Buffer.from([...lines, rest].join('\n'), 'utf8');
        const decoder = createLineDecoder(10_000);
        const got = cut(bytes, places).flatMap((chunk) => decoder.push(chunk));
        assert.deepEqual(
          got,
          lines.filter((one) => one !== ''),
        );
        assert.equal(decoder.pending(), Buffer.byteLength(rest));
      }),
      { numRuns: 500 },
    );
  });

  test('takes a line of exactly its limit and refuses one byte more, in one chunk or many', () => {
    for (const size of [1, 3, 11]) {
      const push = (text: string) => {
        const decoder = createLineDecoder(10);
        const bytes = Buffer.from(text);
        const lines: string[] = [];
        for (let i = 0; i < bytes.length; i += size) lines.push(...decoder.push(bytes.subarray(i, i + size)));
        return lines;
      };
      assert.deepEqual(push('0123456789\n'), ['0123456789']);
      assert.throws(() => push('0123456789x\n'), { code: 'LineTooLong' });
      assert.throws(() => push('0123456789xyz'), { code: 'LineTooLong' });
    }
  });
});
