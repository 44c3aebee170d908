import assert from 'node:assert/strict';
import type { Lease, NewTask, TaskQueue } from '#agent-server/queue/queue.ts';

/** One test of an empty queue. */
export type Check = (what: string, body: (queue: TaskQueue) => Promise<void>) => void;

export function task(toolName: string, more: Partial<NewTask> = {}): NewTask {
  return { toolName, payload: { n: toolName }, ...more };
}

export async function leased(queue: TaskQueue): Promise<Lease> {
  const lease = await queue.lease();
  assert.ok(lease);
  return lease;
}

export const result = { content: [{ type: 'text', text: 'done' }] };
export const done = { status: 'completed', result } as const;
