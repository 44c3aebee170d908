import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createBodyReader } from './answer-stream.ts';

const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n';

/** What is read of bytes that come in pieces cut at these places. Throws when the answer is not complete by then. */
function readPieces(bytes: Buffer, cuts: readonly number[]): string {
  const borders = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  const read: Buffer[] = [];
  const reader = createBodyReader((piece) => read.push(Buffer.from(piece)));
  let isComplete = false;
  for (let index = 1; index < borders.length; index += 1) {
    isComplete = reader.push(bytes.subarray(borders[index - 1], borders[index]));
  }
  if (!isComplete) throw new Error('the answer is not complete');
  return Buffer.concat(read).toString('utf8');
}

function encode(chunks: readonly string[]): Buffer {
  const parts = chunks.filter((chunk) => chunk !== '').map((chunk) => Buffer.from(chunk));
  const framed = parts.flatMap((part) => [
    Buffer.from(`${part.length.toString(16)}\r\n`),
    part,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([Buffer.from(head), ...framed, Buffer.from('0\r\n\r\n')]);
}

test('a body comes out whole however it was cut into chunks and packets', () =>
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'binary', maxLength: 40 }), { maxLength: 8 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
      (chunks, cuts) => {
        const bytes = encode(chunks);
        const places = cuts.map((cut) => Math.floor(cut * bytes.length));
        assert.equal(readPieces(bytes, places), chunks.join(''));
      },
    ),
    { numRuns: 300 },
  ));

const broken: Record<string, string> = {
  'a refusal': 'HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a plain answer': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
  'an endless head': `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(10_000)}`,
  'a chunk without a size': `${head}hello\r\n`,
  'a chunk with a negative size': `${head}-1\r\n`,
  'an endless size': `${head}${'0'.repeat(100)}`,
  'a chunk that is longer than it says': `${head}2\r\nabc\r\n0\r\n\r\n`,
  'an end in the middle': `${head}5\r\nab`,
  'no answer': '',
};
for (const [what, text] of Object.entries(broken)) {
  test(`${what} is an error`, () => {
    for (const cuts of [[], [text.length / 2]]) {
      assert.throws(() => readPieces(Buffer.from(text), cuts), Error);
    }
  });
}
