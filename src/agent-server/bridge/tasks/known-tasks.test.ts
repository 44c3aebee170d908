import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createRunningTasks } from '../../upstream/running-tasks.ts';
import { createKnownTasks } from './known-tasks.ts';

const taskOf = (id: string, place = '', owner = 'ana') => ({
  ...{ id, place, owner, name: `${place} ${id}` },
  session: undefined,
  link: undefined,
});

test('tasks of two processes with one id are told apart by their place (K3)', () => {
  const known = createKnownTasks(10);
  known.add(taskOf('1', 'a'));
  known.add(taskOf('1', 'b', 'ben'));
  known.add(taskOf('1', 'a'));
  assert.equal(known.size, 2);
  assert.equal(known.find('b', '1')?.owner, 'ben');
  assert.equal(known.find('c', '1'), undefined);
  assert.equal(known.listed('1', 'a', 'ana')?.place, 'a');
  assert.equal(known.listed('1', 'c', 'ben')?.place, 'b');
  assert.equal(known.listed('1', 'a', 'ben'), undefined, 'the one there is of Ana');
  known.add(taskOf('1', 'd'));
  assert.equal(known.listed('1', 'c', 'ana'), undefined, 'it may be either');
});

test('the oldest task makes room (K5)', () => {
  const known = createKnownTasks(2);
  for (const id of ['1', '2', '3']) known.add(taskOf(id));
  assert.equal(known.size, 2);
  assert.equal(known.find('', '1'), undefined);
  assert.equal(known.find('', '3')?.id, '3');
});

test('an id that is used again is as young as its last task (K5)', () => {
  const known = createKnownTasks(3);
  known.add(taskOf('1'));
  known.add(taskOf('2'));
  known.add(taskOf('1', '', 'ben'));
  for (const id of ['3', '4']) known.add(taskOf(id));
  assert.equal(known.find('', '1')?.owner, 'ben');
});

test('a task runs until somebody hears that it ended, or its time is over (K3)', async () => {
  const clock = createFakeClock();
  const running = createRunningTasks(clock);
  const begin = (taskId: string, ttl: number | null) =>
    running.note('tools/call', {}, { task: { taskId, status: 'working', ttl } });
  assert.equal(running.any, false);
  begin('1', null);
  running.note('tasks/get', { taskId: '1' }, { taskId: '1', status: 'working' });
  assert.equal(running.any, true);
  running.note('tasks/get', { taskId: '1' }, { taskId: '1', status: 'cancelled' });
  assert.equal(running.any, false);
  begin('2', 1000);
  await clock.advance(999);
  assert.equal(running.any, true);
  await clock.advance(1);
  assert.equal(running.any, false);
  running.note('tools/call', {}, { resultType: 'task', taskId: '3', status: 'working', ttlMs: null });
  running.note('tasks/result', { taskId: '3' }, { content: [] });
  assert.equal(running.any, false);
});
