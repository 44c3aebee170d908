import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { Lease } from '../queue/queue.ts';
import { toNewRecord } from '../queue/task-record.ts';
import { awaitTools } from './awaited-tools.ts';

function leaseOf(tool: string): Lease {
  const about = { key: null, owner: null, tool, payload: '{}', priority: 1, retries: 0 };
  const task = { id: tool.padStart(16, '0'), ...about, timeoutMs: null, ttlMs: null, now: 0 };
  return { task: toNewRecord(task, 1, 0), signal: new AbortController().signal };
}

/** Of a queue only what this needs: names of tools whose tasks wait. */
function stand(...waiting: string[]) {
  const clock = createFakeClock();
  const known = new Set(['here']);
  const pending = [...waiting];
  let announced = 0;
  const queue = awaitTools({
    clock,
    knows: (tool) => known.has(tool),
    queue: {
      async lease(except = []) {
        const index = pending.findIndex((tool) => !except.includes(tool));
        const [tool] = index === -1 ? [] : pending.splice(index, 1);
        return tool === undefined ? undefined : leaseOf(tool);
      },
      async release({ task }) {
        pending.unshift(task.toolName);
      },
      settle: async () => true,
      progress: () => undefined,
      onPending: () => () => undefined,
    },
  });
  queue.onPending(() => {
    announced += 1;
  });
  const next = async (except?: string[]) => (await queue.lease(except))?.task.toolName;
  return { clock, known, pending, queue, next, announced: () => announced };
}

test('tasks of tools that are not there stay where they are, and others run meanwhile', async () => {
  const { clock, pending, queue, next } = stand('gone', 'gone', 'away', 'here', 'busy');
  assert.equal(await next(['busy']), 'here');
  assert.equal(await next(['busy']), undefined);
  await clock.advance(59_000);
  assert.equal(await next(['busy']), undefined);
  assert.deepEqual(pending.toSorted(), ['away', 'busy', 'gone', 'gone']);
  queue.close();
  assert.equal(clock.pending, 0);
});

test('they are run when their tool comes back, soon', async () => {
  const { clock, known, next, announced } = stand('gone');
  assert.equal(await next(), undefined);
  await clock.advance(30_000);
  assert.equal(announced(), 0);
  known.add('gone');
  await clock.advance(1_000);
  assert.equal(announced(), 1);
  assert.equal(await next(), 'gone');
  await clock.advance(10_000);
  assert.equal(clock.pending, 0);
});

test('a tool that does not come back is given up after a minute, and waited for anew later', async () => {
  const { clock, pending, next, announced } = stand('gone', 'gone');
  assert.equal(await next(), undefined);
  await clock.advance(60_000);
  assert.ok(announced() > 0);
  assert.deepEqual([await next(), await next()], ['gone', 'gone']);
  await clock.advance(120_000);
  assert.equal(clock.pending, 0);
  pending.push('gone');
  assert.equal(await next(), undefined);
});
