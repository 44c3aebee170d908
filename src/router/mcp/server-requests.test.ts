import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { deriveSubkey } from '#wire/keys.ts';
import { masterKey } from '#wire/testing.ts';
import { exposeRequestId, readRequestId, renameServerRequest } from './server-requests.ts';

const sealOf = (master: number) => deriveSubkey(masterKey(master), 'session-seal');
const keys = { sessionSeal: [sealOf(1)] };
const ana = { keys, session: 'ana' };

test('the id of a question leads back to its agent, at any router that has the keys', () => {
  const ids = fc.oneof(fc.string(), fc.integer());
  fc.assert(
    fc.property(ids, fc.string(), (id, session) => {
      const asked = { keys, session };
      const exposed = exposeRequestId(asked, 'demo', id);
      assert.deepEqual(readRequestId(asked, exposed), { agent: 'demo', id });
      const rotated = { keys: { sessionSeal: [sealOf(2), sealOf(1)] }, session };
      assert.deepEqual(readRequestId(rotated, exposed), { agent: 'demo', id });
    }),
  );
});

test('an id that no router made for this session leads nowhere', () => {
  const exposed = exposeRequestId(ana, 'demo', 'question-1');
  assert.equal(readRequestId({ keys, session: 'ben' }, exposed), undefined, 'another session');
  assert.equal(readRequestId({ ...ana, keys: { sessionSeal: [sealOf(2)] } }, exposed), undefined);
  assert.equal(readRequestId(ana, exposed.replace('demo', 'other')), undefined, 'another agent');
  assert.equal(readRequestId(ana, exposed.replace('question-1', 'question-2')), undefined);
  const nothing = ['', 'x', 7, null, 'demo/"question-1"', 'demo/7', `demo/${'x'.repeat(22)}/7`];
  for (const id of nothing) assert.equal(readRequestId(ana, id), undefined, String(id));
});

test('a question that is taken back has the id under which it was put', () => {
  const question = renameServerRequest(ana, 'demo', { jsonrpc: '2.0', id: 1, method: 'roots/list' });
  const params = { requestId: 1, reason: 'late' };
  const withdrawn = { jsonrpc: '2.0', method: 'notifications/cancelled', params };
  assert.deepEqual(renameServerRequest(ana, 'demo', withdrawn)['params'], {
    requestId: question['id'],
    reason: 'late',
  });
});
