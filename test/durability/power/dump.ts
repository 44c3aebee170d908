import type { Operation, StoredTask } from '#agent-server/queue/store/operations.ts';
import { TaskStore } from '#agent-server/queue/store/store.ts';

const list: Operation = { type: 'list', status: null, owner: null, after: null, limit: 100_000 };

export interface Dump {
  /** Every task with everything that it is and has, as JSON text. */
  readonly dump: string;
  readonly tasks: readonly StoredTask[];
  /** What opening found. */
  readonly notes: readonly { readonly type: string }[];
}

/** Opens a queue's folder as an agent-server that starts, and reads all of it. Throws StoreError. */
export function dumpOf(folder: string): Dump {
  const store = new TaskStore(folder, 5_000);
  try {
    const [listed] = store.apply([list]) as [StoredTask[]];
    const tasks = listed.map(({ id }) => {
      const [task] = store.apply([{ type: 'get', id }]);
      if (task instanceof Error) throw task;
      return task as StoredTask;
    });
    return { dump: JSON.stringify(tasks), tasks, notes: store.notes };
  } finally {
    store.close();
  }
}
