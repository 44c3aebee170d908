import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exposeEventId, readEventId } from './event-ids.ts';

test('an event’s id names its agent and says how its answer is read', () => {
  const tasks = ['tasks/get', 'tasks/result', 'tasks/cancel'];
  for (const method of ['tools/call', 'prompts/get', 'resources/read', ...tasks, '']) {
    const event = { agent: 'demo', method, id: 'instance-1.abc/def' };
    assert.deepEqual(readEventId(exposeEventId(event)), event);
  }
  const other = exposeEventId({ agent: 'demo', method: 'completion/complete', id: 'x' });
  assert.deepEqual(readEventId(other), { agent: 'demo', method: '', id: 'x' });
});

test('what was not made here is no event’s id', () => {
  for (const id of ['', 'x', 'instance-1.abc', '/t/x', 'demo/t/', 'demo/z/x', 'demo/tx']) {
    assert.equal(readEventId(id), undefined, id);
  }
});
