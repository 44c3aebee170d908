import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metaKeys } from './eras.ts';
import { wrapResult } from './results.ts';

const server = { name: 's', version: '1' };

test('a stateless list has resultType, cache hints and the server in _meta', () => {
  assert.deepEqual(wrapResult('stateless', 'tools/list', { tools: [], _meta: { a: 1 } }, server), {
    resultType: 'complete',
    ttlMs: 0,
    cacheScope: 'private',
    tools: [],
    _meta: { [metaKeys.serverInfo]: server, a: 1 },
  });
});

test('a result that asks for input keeps its type and has no cache hints', () => {
  const wrapped = wrapResult(
    'stateless',
    'resources/read',
    { resultType: 'input_required', requestState: 'x' },
    server,
  );
  assert.equal(wrapped['resultType'], 'input_required');
  assert.ok(!('ttlMs' in wrapped) && !('cacheScope' in wrapped));
});

test('a client of the sessions era sees none of the new members and no foreign output schema', () => {
  const object = { name: 'a', inputSchema: {}, outputSchema: { type: 'object' } };
  const list = { name: 'b', inputSchema: {}, outputSchema: { type: 'array' } };
  const wrapped = wrapResult(
    'sessions',
    'tools/list',
    { resultType: 'complete', ttlMs: 5, cacheScope: 'public', tools: [object, list] },
    server,
  );
  assert.deepEqual(wrapped, { tools: [object, { name: 'b', inputSchema: {} }] });
});

test('structured content that is no object becomes text for a client of the sessions era (R3)', () => {
  const list = { content: [], structuredContent: [1, 2] };
  assert.deepEqual(wrapResult('sessions', 'tools/call', list, server), {
    content: [{ type: 'text', text: '[1,2]' }],
  });
  const content = [{ type: 'text', text: 'one, two' }];
  assert.deepEqual(wrapResult('sessions', 'tools/call', { ...list, content }, server), { content });
  const object = { content, structuredContent: { a: 1 } };
  assert.deepEqual(wrapResult('sessions', 'tools/call', object, server), object);
  assert.deepEqual(wrapResult('stateless', 'tools/call', list, server)['structuredContent'], [1, 2]);
});
