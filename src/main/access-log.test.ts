import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { accessLine } from './access-log.ts';

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
