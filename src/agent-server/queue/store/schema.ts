import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from './store-error.ts';

/** Each brings a file of the version that is its index to the next one. Never change one that was released. */
const migrations: readonly string[] = [
  `CREATE TABLE tasks (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     key TEXT,
     tool TEXT NOT NULL,
     payload TEXT NOT NULL,
     priority INTEGER NOT NULL,
     status TEXT NOT NULL,
     attempt INTEGER NOT NULL,
     max_attempts INTEGER NOT NULL,
     timeout_ms INTEGER,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL,
     error TEXT,
     result TEXT,
     result_file TEXT,
     log_tail TEXT NOT NULL DEFAULT '',
     log_sequence INTEGER NOT NULL DEFAULT 0,
     log_truncated INTEGER NOT NULL DEFAULT 0,
     sum INTEGER NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX tasks_key ON tasks (key) WHERE key IS NOT NULL;
   CREATE INDEX tasks_pending ON tasks (priority DESC, seq) WHERE status = 'pending';
   CREATE INDEX tasks_running ON tasks (seq) WHERE status = 'running';
   CREATE INDEX tasks_finished ON tasks (updated_at, seq) WHERE status IN ('completed', 'failed', 'cancelled');`,
];

/** Brings the file to this program's version, in one transaction. Throws SchemaTooNew for one of a later program. */
export function migrate(database: DatabaseSync, path: string): void {
  const row = database.prepare('PRAGMA user_version').get();
  const version = Number(row?.['user_version'] ?? 0);
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
    database.exec('ROLLBACK');
    throw error;
  }
}
