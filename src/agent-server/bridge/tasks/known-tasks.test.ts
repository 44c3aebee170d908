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
  assert.equal(known.meant('1', undefined), undefined);
  assert.equal(known.meant('1', 'a')?.owner, 'ana');
  assert.equal(known.meant('1', undefined, 'ben')?.place, 'b');
});

test('the oldest task makes room (K5)', () => {
  const known = createKnownTasks(2);
  for (const id of ['1', '2', '3']) known.add(taskOf(id));
  assert.equal(known.size, 2);
  assert.equal(known.find('', '1'), undefined);
  assert.equal(known.find('', '3')?.id, '3');
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
