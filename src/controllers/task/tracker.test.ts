import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '#api/agent.ts';
import type { Task } from '#api/task.ts';
import { silentLog } from '#kit/log.ts';
import { createCache } from '#kube/cache.ts';
import { ApiError } from '#kube/errors.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { ExecutionLine } from '#wire/execution-line.ts';
import { taskIndexes } from './indexes.ts';
import { makeAgent } from './testing.ts';
import { createTracker } from './tracker.ts';

const place = {
  ...{ instance: 'i', address: 'unix:/i', keys: [] },
  agent: { namespace: 'default', name: 'demo', uid: 'uid-demo' },
};

/** What the API does is each test's; deletions stay unseen until `shown`. */
function onStage(answer: (task: Task) => number, maxTracked = 100) {
  const clock = createFakeClock();
  const agents = createCache<Agent>();
  const agent = makeAgent('demo', { tasks: { track: 'Always', maxTracked } });
  agents.upsert({ ...agent, metadata: { ...agent.metadata, resourceVersion: '1' } });
  const tasks = createCache<Task>({ indexes: taskIndexes });
  const asked: Task[] = [];
  const deleted: string[] = [];
  const events: string[] = [];
  let version = 1;
  const tracker = createTracker({
    ...{ tasks, agents, clock, log: silentLog },
    observe: (task) => void tasks.upsert(task),
    events: { event: (_object, _type, _reason, message) => void events.push(message) },
    client: {
      async create<T>(_resource: unknown, object: T): Promise<T> {
        const task = object as Task;
        asked.push(task);
        const status = answer(task);
        if (status !== 201) throw new ApiError({ status, message: `it says ${status}` });
        version += 1;
        const uid = `uid-${task.metadata.name}`;
        const metadata = { ...task.metadata, uid, resourceVersion: String(version) };
        return { ...object, metadata };
      },
      async delete(_resource, { name }) {
        deleted.push(name);
        return undefined as never;
      },
    },
  });
  const began = (id: number, input: Record<string, unknown> = {}, tool = 'mark') =>
    tracker.began(place, lineOf(id, input, tool));
  const made = () => tasks.list().map(({ spec }) => Number.parseInt(spec.execution?.id ?? '', 16));
  return { clock, tasks, tracker, asked, deleted, events, began, made };
}

function lineOf(id: number, input: Record<string, unknown>, tool: string): ExecutionLine {
  return { type: 'execution', id: id.toString(16).padStart(16, '0'), tool, input, finishedAt: null };
}

test('arguments that no Task can have are left out, and the next tasks appear', async () => {
  const { clock, began, made, tasks } = onStage(() => 201);
  began(1, { ['a'.repeat(254)]: 1 });
  began(2, { n: 2 });
  await clock.advance(0);
  assert.deepEqual(made().sort(), [1, 2]);
  const inputs = tasks.list().map(({ spec }) => spec.input);
  assert.deepEqual(inputs, [undefined, { n: 2 }]);
});

test('what the API never takes is left out and said, and the next tasks appear', async () => {
  for (const status of [400, 413, 422]) {
    const { clock, began, made, events } = onStage(({ spec }) => (spec.tool === 'bad' ? status : 201));
    began(1, {}, 'bad');
    began(2);
    await clock.advance(0);
    assert.deepEqual(made(), [2], String(status));
    assert.match(events[0] ?? '', /the API refuses it/);
  }
});

test('what the API refuses for a moment is said, holds up none behind it, and appears later', async () => {
  for (const status of [403, 404]) {
    let isRefused = true;
    const { clock, began, made, events } = onStage(({ spec }) =>
      spec.tool === 'bad' && isRefused ? status : 201,
    );
    began(1, {}, 'bad');
    began(2);
    await clock.advance(5_000);
    assert.deepEqual(made(), [2], String(status));
    assert.match(events[0] ?? '', /the API refuses it for now/);
    began(3, {}, 'bad');
    await clock.advance(20_000);
    assert.ok(events.length <= 2, 'said once in a row');
    isRefused = false;
    await clock.advance(5_000);
    assert.deepEqual(made().sort(), [1, 2, 3], String(status));
    assert.equal(clock.pending, 0);
  }
});

test('while the API answers nothing, each Agent has one timer, however much is begun', async () => {
  let isUp = false;
  const { clock, began, made, asked } = onStage(() => (isUp ? 201 : 503));
  for (let id = 1; id <= 50; id += 1) {
    began(id);
    await clock.advance(0);
  }
  assert.equal(clock.pending, 1);
  const before = asked.length;
  await clock.advance(50_000);
  assert.ok(asked.length - before <= 10, String(asked.length));
  isUp = true;
  await clock.advance(5_000);
  assert.equal(made().length, 50);
  assert.equal(clock.pending, 0);
});

test('one that fails again and again holds up none behind it', async () => {
  const { clock, began, made } = onStage(({ spec }) => (spec.tool === 'bad' ? 500 : 201));
  began(1, {}, 'bad');
  for (const id of [2, 3, 4]) began(id);
  await clock.advance(5_000);
  assert.deepEqual(made().sort(), [2, 3, 4]);
});

test('the id of a task is not in the name', async () => {
  const { clock, began, tasks } = onStage(() => 201);
  began(0xabcdef);
  await clock.advance(0);
  const [task] = tasks.list();
  assert.match(task?.metadata.name ?? '', /^demo-[0-9a-f]{16}$/);
  assert.ok(!task?.metadata.name.includes('abcdef'));
  assert.equal(task?.spec.execution?.id, '0000000000abcdef');
});

test('there are never more than maxTracked, though deletions are seen late', async () => {
  const { clock, began, tasks, deleted, tracker, events } = onStage(() => 201, 2);
  for (const id of [1, 2]) began(id);
  await clock.advance(0);
  const [first] = tasks.list();
  assert.ok(first);
  const status = { phase: 'Succeeded' as const, completedAt: '2026-01-01T00:00:00Z' };
  const ended = { ...first, metadata: { ...first.metadata, resourceVersion: '50' } };
  tasks.upsert({ ...ended, status: { ...first.status, ...status } as NonNullable<Task['status']> });
  for (const id of [3, 4, 5]) began(id);
  await clock.advance(0);
  assert.deepEqual(deleted, [first.metadata.name]);
  assert.equal(tasks.list().length - deleted.length, 2);
  assert.match(events[0] ?? '', /none has ended/);
  tracker.close();
});
