import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createSseDecoder, encodeEvent, encodeMessage, type SseEvent, sseKeepAlive } from './sse.ts';

const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n\0]/g, ' ').trim());
const event: fc.Arbitrary<SseEvent> = fc.record(
  {
    data: fc.array(line, { minLength: 1 }).map((lines) => lines.join('\n')),
    event: line,
    id: line,
    retry: fc.nat(),
  },
  { requiredKeys: ['data'], noNullPrototype: true },
);

test('whatever is encoded is decoded again, however the bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(event), fc.array(fc.nat(50)), (events, cuts) => {
      const bytes = Buffer.from(events.map(encodeEvent).join(sseKeepAlive));
      const decoder = createSseDecoder();
      const decoded: SseEvent[] = [];
      let at = 0;
      for (const size of cuts) {
        decoded.push(...decoder.push(bytes.subarray(at, at + size)));
        at += size;
      }
      decoded.push(...decoder.push(bytes.subarray(at)));
      assert.deepEqual(decoded, events);
    }),
  );
});

test('all three line ends separate lines, a cut between CR and LF included', () => {
  const decoder = createSseDecoder();
  const events = ['data: a\r', '\n\r\ndata: b\r\rdata: c\n\n'].flatMap((part) => decoder.push(part));
  assert.deepEqual(events, [{ data: 'a' }, { data: 'b' }, { data: 'c' }]);
});

test('comments, unknown fields and events without data give nothing', () => {
  assert.deepEqual(createSseDecoder().push(': hi\n\nfoo: bar\nevent: x\n\n'), []);
});

test('an event without end is refused at the limit instead of filling the memory', () => {
  const decoder = createSseDecoder(1000);
  assert.throws(() => {
    for (let count = 0; count < 100; count++)
      decoder.push('data: 0123456789012345678901234567890123456789\n');
  }, /larger than 1000 bytes/);
});

test('a JSON-RPC message is one event of one data line', () => {
  const message = { jsonrpc: '2.0', id: 1, result: { text: 'a\nb\u2028c' } };
  assert.deepEqual(JSON.parse(createSseDecoder().push(encodeMessage(message))[0]?.data ?? ''), message);
});

test('a reconnection time counts at once, without an event and before its event ends', () => {
  const decoder = createSseDecoder();
  assert.equal(decoder.retry, undefined);
  assert.deepEqual(decoder.push('retry: 250\n\n'), []);
  assert.equal(decoder.retry, 250);
  assert.deepEqual(decoder.push('data: x\n\nretry: 300\n'), [{ data: 'x' }]);
  assert.equal(decoder.retry, 300);
  decoder.push('retry: soon\n\n');
  assert.equal(decoder.retry, 300);
});

test('an event that comes in many small pieces is looked at once, not again with each piece', () => {
  const decoder = createSseDecoder();
  const piece = 'x'.repeat(256);
  const begun = performance.now();
  decoder.push('data: ');
  for (let count = 0; count < 32_000; count += 1) decoder.push(piece);
  const [event] = decoder.push('\n\n');
  assert.equal(event?.data.length, 256 * 32_000);
  assert.ok(performance.now() - begun < 3_000, `${performance.now() - begun} ms`);
});
