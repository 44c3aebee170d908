import type { Clock } from '#kit/clock.ts';
import type { Params } from '#mcp/jsonrpc.ts';
import type { TaskRecord } from '../queue/queue.ts';
import { isFinal, statelessFields } from './mcp-fields.ts';
import { paceReports } from './paced-reports.ts';
import type { TaskService } from './service.ts';

export interface WatchOptions {
  readonly service: Pick<TaskService, 'get' | 'onChange'>;
  readonly clock: Clock;
  readonly pollMs: number;
  /** What the client calls its tasks, by the queue's ids. */
  readonly names: ReadonlyMap<string, string>;
  readonly owner: string;
  readonly tell: (task: Params) => void;
}

/**
 * Tells how tasks go on, and of one that has ended, that; `ids` are the names of those that are the owner's. It listens
 * before it reads: what happens meanwhile is told too. Rejects as `get`, and then tells nothing.
 */
export async function watchTasks({
  service,
  clock,
  pollMs,
  names,
  owner,
  tell,
}: WatchOptions): Promise<{ readonly ids: readonly string[]; end(): void }> {
  const ended = new Set<string>();

  function tellOf(record: TaskRecord | undefined): void {
    const taskId = names.get(record?.id ?? '');
    if (record === undefined || taskId === undefined || record.owner !== owner || ended.has(record.id))
      return;
    if (isFinal(record)) ended.add(record.id);
    tell(statelessFields(record, taskId, pollMs));
  }
  const reports = paceReports(clock, async (id) => tellOf(await service.get(id)));
  const stopListening = service.onChange((change) => {
    if (names.has(change.id)) reports.changed(change);
  });
  const end = () => {
    stopListening();
    reports.close();
  };
  try {
    const granted: string[] = [];
    const records = await Promise.all([...names.keys()].map((id) => service.get(id)));
    for (const record of records) {
      if (record === undefined || record.owner !== owner) continue;
      granted.push(names.get(record.id) ?? '');
      // Of one that is over nothing more would be heard.
      if (isFinal(record)) tellOf(record);
    }
    return { ids: granted, end };
  } catch (error) {
    end();
    throw error;
  }
}
