import type { TaskQueue } from '#agent-server/queue/queue.ts';
import { openQueue } from '#test/contract/queue/open-queue.ts';
import { payloadOf, type Writer } from './writer.ts';

/** As the agent-server opens it, with room for any backlog. */
export function openDurableQueue(folder: string): TaskQueue {
  return openQueue(folder, { limits: { maxPending: 10_000_000 }, logTailBytes: () => 131_072 });
}

export function openDurable(folder: string): Writer {
  const queue = openDurableQueue(folder);
  return {
    add: (number) => queue.enqueue({ toolName: 'work', payload: payloadOf(number) }),
    close: () => queue.close(),
  };
}
