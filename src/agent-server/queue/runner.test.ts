import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGate } from './gate.ts';
import type { Lease, Outcome, TaskQueue } from './queue.ts';
import { startTaskRunner } from './runner.ts';
import { StoreError } from './store/store-error.ts';
import { toNewRecord } from './task-record.ts';

interface Fake {
  readonly queue: TaskQueue;
  readonly settled: string[];
  readonly pending: string[];
  announce(): void;
  fail(times: number): void;
}

/** Of a queue only what a runner needs: tools' names that wait. */
function fakeQueue(...tools: string[]): Fake {
  const pending = [...tools];
  const settled: string[] = [];
  let announce = () => {};
  let failures = 0;
  let count = 0;
  const parts: Partial<TaskQueue> = {
    async lease(except = []) {
      if (failures-- > 0) throw new StoreError('QueueUnavailable', 'the disk is full');
      const index = pending.findIndex((tool) => !except.includes(tool));
      const [tool] = index === -1 ? [] : pending.splice(index, 1);
      return tool === undefined ? undefined : leaseOf(tool, ++count);
    },
    async settle({ task }, outcome) {
      settled.push(`${task.toolName} ${outcome.status}`);
      if (outcome.status === 'failed') throw new StoreError('QueueUnavailable', 'closed');
      return true;
    },
    onPending(listener) {
      announce = listener;
      return () => {};
    },
  };
  return {
    queue: parts as TaskQueue,
    settled,
    pending,
    announce: () => announce(),
    fail(times) {
      failures = times;
    },
  };
}

function leaseOf(tool: string, number: number): Lease {
  const about = { key: null, owner: null, tool, payload: '{}', priority: 1, retries: 0 };
  const task = { id: `${number}`.padStart(16, '0'), ...about, timeoutMs: null, ttlMs: null, now: 0 };
  return { task: toNewRecord(task, 1, 0), signal: new AbortController().signal };
}

const gateOf = (limit: number) => createGate({ limit, maxWaiting: 10, onFull: () => new Error('full') });
const done: Outcome = { status: 'completed', result: { content: [] } };
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('what cannot be leased now is leased when it is announced again', async () => {
  const fake = fakeQueue('a');
  fake.fail(1);
  const gate = gateOf(1);
  const stop = startTaskRunner({ queue: fake.queue, gate, execute: async () => done });
  await turn();
  assert.deepEqual([fake.settled, gate.running], [[], 0], 'no place is held meanwhile');
  fake.announce();
  await turn();
  assert.deepEqual(fake.settled, ['a completed']);
  stop();
});

test('what is pending waits in its row however many calls wait', async () => {
  const fake = fakeQueue('a');
  const gate = createGate({ limit: 1, maxWaiting: 1, onFull: () => new Error('full') });
  const { signal } = new AbortController();
  const first = await gate.enter(signal);
  const second = gate.enter(signal);
  const stop = startTaskRunner({ queue: fake.queue, gate, execute: async () => done });
  await turn();
  await assert.rejects(gate.enter(signal), /full/);
  first();
  (await second)();
  await turn();
  assert.deepEqual([fake.settled, gate.running, gate.waiting], [['a completed'], 0, 0]);
  stop();
});

test('an outcome that is not recorded any more ends nothing else', async () => {
  const fake = fakeQueue('a', 'b');
  const gate = gateOf(1);
  const stop = startTaskRunner({
    ...{ queue: fake.queue, gate },
    async execute({ task }) {
      if (task.toolName === 'a') throw new Error('broken');
      return done;
    },
  });
  await turn();
  await turn();
  assert.deepEqual([fake.settled, gate.running], [['a failed', 'b completed'], 0]);
  stop();
});

test('a tool runs no more often at once than it may, others go by', async () => {
  const fake = fakeQueue('a', 'a', 'b');
  const ends: (() => void)[] = [];
  const stop = startTaskRunner({
    ...{ queue: fake.queue, gate: gateOf(10) },
    limitOf: (tool) => (tool === 'a' ? 1 : undefined),
    execute: () => new Promise((resolve) => ends.push(() => resolve(done))),
  });
  await turn();
  assert.deepEqual([fake.pending, ends.length], [['a'], 2]);
  ends[0]?.();
  await turn();
  assert.deepEqual([fake.pending, ends.length], [[], 3]);
  stop();
});
