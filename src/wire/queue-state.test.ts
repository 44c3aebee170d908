import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mergeQueueStates, mostShown, parseQueueState, type QueueState } from './queue-state.ts';

const state: QueueState = {
  pending: 3,
  running: 1,
  inputRequired: 0,
  finished: { completed: 5, failed: 1, cancelled: 0 },
  oldestWaitMs: 1200,
  tasks: [{ tool: 'crunch', runMs: 40, attempt: 1, progress: { progress: 2, total: 4 } }],
};

test('what an agent-server says comes out as it was said', () => {
  assert.deepEqual(parseQueueState(JSON.parse(JSON.stringify(state))), state);
});

test('whatever an agent-server says, counts are whole numbers and lists are bounded', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(fc.jsonValue(), { maxLength: 60 }), (some, tasks) => {
      const read = parseQueueState({
        pending: some,
        running: some,
        finished: some,
        oldestWaitMs: some,
        tasks,
      });
      assert.ok(read !== undefined && Number.isSafeInteger(read.pending) && read.pending >= 0);
      assert.ok(read.tasks.length <= mostShown);
      for (const { tool, runMs } of read.tasks) assert.ok(tool.length <= 255 && Number.isSafeInteger(runMs));
    }),
  );
  assert.equal(parseQueueState([]), undefined);
});

test('several instances are one: counts are added, the longest wait and run come first', () => {
  const [task] = state.tasks;
  assert.ok(task !== undefined);
  const other = { ...state, oldestWaitMs: null, tasks: [{ ...task, tool: 'older', runMs: 99 }] };
  const merged = mergeQueueStates([state, other]);
  assert.equal(merged.pending, 6);
  assert.equal(merged.finished.completed, 10);
  assert.equal(merged.oldestWaitMs, 1200);
  assert.deepEqual(
    merged.tasks.map(({ tool }) => tool),
    ['older', 'crunch'],
  );
  assert.equal(mergeQueueStates([]).oldestWaitMs, null);
});
