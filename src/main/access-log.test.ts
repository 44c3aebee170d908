import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { pino } from 'pino';
import { accessLine, createGathered } from './access-log.ts';

test('a line of the access log is the line that pino writes', () => {
  const fields = { id: 'a-1', path: '/mcp"\\\n\u2028\u0000<é', status: 200, ms: 0.3, gone: undefined };
  let written = '';
  const logger = pino({ base: { name: 'router' }, timestamp: false }, { write: (line) => (written = line) });
  logger.info(fields, 'request');
  assert.deepEqual(
    JSON.parse(accessLine('{"level":30,"name":"router"', 'request', fields)),
    JSON.parse(written),
  );
  assert.equal(accessLine('{"level":30', 'request', fields).split('\n').length, 2, 'one line');
});

test('lines are put together up to a length, in order and whole, and a longer one passes alone', () => {
  const written: string[] = [];
  const { add, flush } = createGathered(10, (text) => written.push(text));
  for (const line of ['aaaa\n', 'bbbb\n', 'cc\n', 'much longer than ten\n', 'd\n']) add(line);
  assert.deepEqual(written, ['aaaa\nbbbb\n', 'cc\n', 'much longer than ten\n']);
  flush();
  flush();
  assert.deepEqual(written.slice(3), ['d\n']);
});

const unit = fc.constantFrom('a', '/', '"', '\\', '\0', '\x7f', 'é', 'ÿ', '\u2028', '\ud83d', '\ude00', '😀');

test('a line is ASCII, whatever was asked for', () => {
  fc.assert(
    fc.property(fc.string({ unit }), fc.string(), (path, method) => {
      const line = accessLine('{"level":30', 'request', { path, method, status: 200, ms: Number.NaN });
      assert.match(line, /^[\0-\x7f]*$/);
      assert.deepEqual(JSON.parse(line), { level: 30, path, method, status: 200, ms: null, msg: 'request' });
    }),
  );
});
