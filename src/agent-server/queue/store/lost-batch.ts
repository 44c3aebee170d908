import type { Database } from './database.ts';
import type { Operation } from './operations.ts';
import type { TaskRow } from './rows.ts';

type Changing = Extract<Operation, { type: HolderType | 'cancel' | 'answer' }>;
type HolderType = 'settle' | 'ask' | 'release' | 'interrupt';

/**
 * Operations of a transaction whose thread ended before it answered. They may have been carried out, and those who asked
 * were told that they were not. Tasks that were added go, tasks that were leased are put back without having run, and
 * an outcome that is there already is what its holder, who asks again, is told. Answers and cancellations stay.
 */
export class LostBatch {
  readonly #operations: readonly Operation[];
  readonly #done = new Set<string>();

  constructor(operations: readonly Operation[]) {
    this.#operations = operations;
  }

  /** Within a transaction, before anything is counted. `held`: ids of tasks that run in this process. */
  undo(database: Database, held: readonly string[]): void {
    const ids = JSON.stringify(held);
    for (const operation of this.#operations) {
      if (operation.type !== 'add' && operation.type !== 'begin') continue;
      database.run("DELETE FROM tasks WHERE id = ? AND status IN ('pending', 'running')", operation.id);
    }
    for (const operation of this.#operations) {
      if (operation.type !== 'lease') continue;
      database.run(
        `UPDATE tasks SET status = 'pending', attempt = attempt - 1, started_at = NULL WHERE seq = (SELECT seq FROM tasks
         WHERE status = 'running' AND cancelling = 0 AND started_at = ? AND updated_at = started_at
         AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY seq LIMIT 1)`,
        ...[operation.now, ids],
      );
    }
  }

  /** Tasks as it left them, in its order: nobody has heard of it. */
  changed(database: Database): TaskRow[] {
    return this.#operations.filter(isChanging).flatMap((operation) => {
      const row = database.get('SELECT * FROM tasks WHERE id = ?', operation.id) as TaskRow | undefined;
      if (row === undefined || row.updated_at !== operation.now) return [];
      if (isHolders(operation) && row.status === 'running') return [];
      if (isHolders(operation)) this.#done.add(nameOf(operation));
      return [row];
    });
  }

  /** Whether it was carried out then. */
  isDone(operation: Operation): boolean {
    return this.#done.size > 0 && isHolders(operation) && this.#done.has(nameOf(operation));
  }
}

function isHolders(operation: Operation): operation is Extract<Operation, { type: HolderType }> {
  return 'attempt' in operation;
}

function isChanging(operation: Operation): operation is Changing {
  return isHolders(operation) || operation.type === 'cancel' || operation.type === 'answer';
}

function nameOf({ type, id, attempt }: Extract<Operation, { type: HolderType }>): string {
  return `${type} ${id} ${attempt}`;
}
