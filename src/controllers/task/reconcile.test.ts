import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '#api/agent.ts';
import { findCondition } from '#api/conditions.ts';
import type { KubeObject } from '#api/meta.ts';
import type { Task, TaskStatus } from '#api/task.ts';
import { silentLog } from '#kit/log.ts';
import { createCache } from '#kube/cache.ts';
import { ApiError } from '#kube/errors.ts';
import { sameStatus } from '#kube/same-status.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createAttempts } from './attempts.ts';
import { taskIndexes } from './indexes.ts';
import { createTaskReconciler, type TaskReconcilerOptions } from './reconcile.ts';
import { ownedFields } from './status.ts';
import { makeAgent, makeTask } from './testing.ts';

interface Refusals {
  /** Nothing is made. */
  readonly create?: boolean;
  /** So many deletions fail. */
  readonly remove?: number;
}

const taken = { reason: 'AlreadyExists', message: 'it is there' } as const;

/** One Task in an API that counts writes and refuses what the test says. */
function createStage(first: Task, refuse: Refusals = {}, others: readonly Task[] = []) {
  const tasks = createCache<Task>({ indexes: taskIndexes });
  const agents = createCache<Agent>();
  const clock = createFakeClock();
  const writes: string[] = [];
  const events: string[] = [];
  tasks.upsert(structuredClone(first));
  agents.upsert(makeAgent('demo'));
  const objects = new Map<string, KubeObject>();
  for (const other of others) {
    tasks.upsert(structuredClone(other));
    objects.set(other.metadata.name, other);
  }
  let failures = refuse.remove ?? 0;
  let version = 10;
  const client = {
    async applyStatus(_resource: unknown, current: Task, status: TaskStatus) {
      if (sameStatus(current.status, status, ownedFields)) return current;
      writes.push(`status ${status.phase}`);
      version += 1;
      return { ...current, metadata: { ...current.metadata, resourceVersion: String(version) }, status };
    },
    async create(_resource: unknown, object: KubeObject) {
      if (refuse.create) throw new ApiError({ status: 403, message: 'exceeded quota' });
      if (objects.has(object.metadata.name)) throw new ApiError({ status: 409, ...taken });
      writes.push(`create ${object.kind}`);
      objects.set(object.metadata.name, object);
      return object;
    },
    async get(_resource: unknown, key: { name: string }) {
      return objects.get(key.name) ?? assert.fail(`${key.name} is not there`);
    },
    async delete(_resource: unknown, key: { name: string }) {
      failures -= 1;
      if (failures >= 0) throw new ApiError({ status: 503, message: 'not now' });
      writes.push(`delete ${key.name}`);
    },
  } as unknown as TaskReconcilerOptions['client'];
  const reconciler = createTaskReconciler({
    ...{ client, clock, log: silentLog, identity: 'here' },
    tasks,
    agents,
    attempts: createAttempts(clock, tasks),
    links: { to: () => assert.fail('nobody is asked'), close: () => undefined },
    events: { event: (_about, _type, reason) => events.push(reason) },
    observe: (task) => tasks.upsert(structuredClone(task)),
    observeAgent: (agent) => agents.upsert(agent),
  });
  const task = () => tasks.get({ namespace: 'default', name: 'build' }) ?? assert.fail('it is gone');
  return { clock, writes, events, task, reconcile: () => reconciler.reconcile(task()) };
}

test('a claim is written once, and looking again writes nothing', async () => {
  const { reconcile, writes, task } = createStage(makeTask());
  for (let times = 0; times < 3; times += 1) await reconcile();
  assert.deepEqual(writes, ['status Queued']);
  assert.equal(task().status?.instance, 'demo-i0');
});

test('what the API will not make is said, and tried again', async () => {
  const { reconcile, writes, events, task } = createStage(makeTask({ isolation: 'Pod' }), { create: true });
  const result = await reconcile();
  await reconcile();
  const stalled = findCondition(task().status?.conditions, 'Stalled');
  assert.deepEqual([stalled?.status, stalled?.reason], ['True', 'CreateRefused']);
  assert.match(stalled?.message ?? '', /^Agent build-[0-9a-f]{8}-1: exceeded quota$/);
  assert.deepEqual(
    [writes.length, events, result],
    [1, ['CreateRefused'], { kind: 'again', afterMs: 30_000 }],
  );
});

test('a schedule makes a Task before it notes that, and then no other', async () => {
  const made = { creationTimestamp: '2025-12-31T23:59:30Z' };
  const { reconcile, writes, task } = createStage(makeTask({ schedule: { cron: '* * * * *' } }, made));
  await reconcile();
  await reconcile();
  assert.deepEqual(writes, ['create Task', 'status Scheduled']);
  assert.equal(task().status?.lastScheduleTime, '2026-01-01T00:00:00Z');
});

const everyMinute = { schedule: { cron: '* * * * *', concurrencyPolicy: 'Replace' } };
const justMade = { creationTimestamp: '2025-12-31T23:59:30Z' };
const owned = (owner: string) => ({
  ownerReferences: [
    { apiVersion: 'ploinky.dev/v1alpha1', kind: 'Task', name: 'build', uid: owner, controller: true },
  ],
});
/** What its name is at the time of the clock. */
const stamped = `build-${Date.parse('2026-01-01T00:00:00Z') / 60_000}`;

test('what a schedule replaces goes, also when that fails at first, and what it made stays', async () => {
  const earlier: Task = {
    ...makeTask({}, { name: 'build-29453759', uid: 'uid-earlier', ...owned('uid-build') }),
    status: { phase: 'Running' },
  };
  const { reconcile, writes, task } = createStage(makeTask(everyMinute, justMade), { remove: 1 }, [earlier]);
  await assert.rejects(reconcile(), /not now/);
  assert.equal(task().status?.lastScheduleTime, undefined, 'the time is not done with');
  await reconcile();
  assert.deepEqual(writes, ['create Task', 'delete build-29453759', 'status Scheduled']);
});

test('a name that somebody else has taken is said, and the time is not done with', async () => {
  for (const [owner, expected] of [
    ['uid-build', undefined],
    ['uid-other', 'CreateRefused'],
  ] as const) {
    const other = makeTask({}, { name: stamped, uid: 'uid-x', ...owned(owner) });
    const { reconcile, task } = createStage(makeTask(everyMinute, justMade), {}, [other]);
    await reconcile();
    const stalled = findCondition(task().status?.conditions, 'Stalled');
    assert.equal(stalled?.reason, expected);
    if (expected !== undefined)
      assert.match(stalled?.message ?? '', new RegExp(`^Task ${stamped}: the name is taken`));
    assert.equal(task().status?.lastScheduleTime === undefined, expected !== undefined);
  }
});
