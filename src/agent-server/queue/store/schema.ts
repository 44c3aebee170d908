import { DatabaseSync } from 'node:sqlite';
import { StoreError } from './store-error.ts';

/** Each brings a file of the version that is its index to the next one, and changes tables. Never change one that was released. */
const migrations: readonly string[] = [
  `CREATE TABLE tasks (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     key TEXT,
     owner TEXT,
     tool TEXT NOT NULL,
     payload TEXT NOT NULL,
     priority INTEGER NOT NULL,
     status TEXT NOT NULL,
     attempt INTEGER NOT NULL DEFAULT 0,
     -- attempts that were lost with their process, and how many may be
     lost INTEGER NOT NULL DEFAULT 0,
     retries INTEGER NOT NULL DEFAULT 0,
     -- 1: its holder was told to end it
     cancelling INTEGER NOT NULL DEFAULT 0,
     timeout_ms INTEGER,
     ttl_ms INTEGER,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     started_at INTEGER,
     finished_at INTEGER,
     -- since when it counts as finished: later than finished_at for tasks that came from elsewhere
     kept_since INTEGER,
     forget_at INTEGER,
     -- of payload, result and log
     bytes INTEGER NOT NULL,
     progress TEXT,
     input_requests TEXT,
     input_responses TEXT,
     request_state TEXT,
     reason TEXT,
     error TEXT,
     rpc_error TEXT,
     exit_code INTEGER,
     result TEXT,
     result_file TEXT,
     result_sum INTEGER,
     log_tail TEXT NOT NULL DEFAULT '',
     log_sequence INTEGER NOT NULL DEFAULT 0,
     log_truncated INTEGER NOT NULL DEFAULT 0,
     -- of what it is to do
     sum INTEGER NOT NULL,
     -- of all the rest, by the program's own function
     state_sum INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE UNIQUE INDEX tasks_key ON tasks (key) WHERE key IS NOT NULL;
   CREATE INDEX tasks_pending ON tasks (priority DESC, seq) WHERE status = 'pending';
   CREATE INDEX tasks_running ON tasks (seq) WHERE status = 'running';
   CREATE INDEX tasks_asking ON tasks (updated_at, seq) WHERE status = 'input_required';
   CREATE INDEX tasks_finished ON tasks (key IS NOT NULL, kept_since, seq) WHERE kept_since IS NOT NULL;
   CREATE INDEX tasks_forget ON tasks (forget_at) WHERE forget_at IS NOT NULL;
   CREATE TRIGGER tasks_changed AFTER UPDATE OF key, owner, priority, status, attempt, lost, retries, cancelling,
     timeout_ms, ttl_ms, created_at, updated_at, started_at, finished_at, kept_since, forget_at, bytes, progress,
     input_requests, input_responses, request_state, reason, error, rpc_error, exit_code, result_file, result_sum,
     log_tail, log_sequence, log_truncated ON tasks BEGIN
     UPDATE tasks SET state_sum = state_sum_of(NEW.key, NEW.owner, NEW.priority, NEW.status, NEW.attempt, NEW.lost,
       NEW.retries, NEW.cancelling, NEW.timeout_ms, NEW.ttl_ms, NEW.created_at, NEW.updated_at, NEW.started_at,
       NEW.finished_at, NEW.kept_since, NEW.forget_at, NEW.bytes, NEW.progress, NEW.input_requests,
       NEW.input_responses, NEW.request_state, NEW.reason, NEW.error, NEW.rpc_error, NEW.exit_code, NEW.result_file,
       NEW.result_sum, NEW.log_tail, NEW.log_sequence, NEW.log_truncated) WHERE seq = NEW.seq;
   END;
   -- Files of tasks that were taken over.
   CREATE TABLE imports (name TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT;`,
];

/** Whether the tables are those that this program makes, to the letter. */
export function isSchemaWhole(database: DatabaseSync, path: string): boolean {
  const fresh = new DatabaseSync(':memory:');
  try {
    migrate(fresh, path);
    return JSON.stringify(schemaOf(fresh)) === JSON.stringify(schemaOf(database));
  } finally {
    fresh.close();
  }
}

function schemaOf(database: DatabaseSync): unknown[] {
  return database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').all();
}

/** Brings the file to this program's version, in one transaction. Throws SchemaTooNew for one of a later program. */
export function migrate(database: DatabaseSync, path: string): void {
  const row = database.prepare('PRAGMA user_version').get();
  const version = Number(row?.['user_version'] ?? 0);
  if (version > migrations.length && isSchemaWhole(database, path)) {
    throw new StoreError(
      'QueueDamaged',
      `it says that it is of schema ${version}, and has the tables of this one`,
    );
  }
  if (version > migrations.length) {
    throw new StoreError(
      'SchemaTooNew',
      `${path} was written by a later version of the agent-server (schema ${version}, this one knows ${migrations.length})`,
      { remedy: 'Run the later version, or move the file away to begin with an empty queue.' },
    );
  }
  if (version === migrations.length) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    for (const step of migrations.slice(version)) database.exec(step);
    database.exec(`PRAGMA user_version = ${migrations.length}`);
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
