import type { TaskQueue } from '#agent-server/queue/queue.ts';
import { openQueue } from '#test/contract/queue/open-queue.ts';
import { payloadOf, type Writer } from './writer.ts';

/** As the agent-server opens it, with room for any backlog. */
export function openDurableQueue(folder: string): TaskQueue {
  return openQueue(folder, { limits: { maxPending: 10_000_000 }, logTailBytes: () => 131_072 });
}

/** With one task, since its store is opened with the first one, and that is no matter of these benches. */
export async function openDurable(folder: string): Promise<Writer> {
  const queue = openDurableQueue(folder);
  const add = (number: number) => queue.enqueue({ toolName: 'work', payload: payloadOf(number) });
  await add(0);
  return { add, close: () => queue.close() };
}
