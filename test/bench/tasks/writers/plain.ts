import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { payloadOf, type Writer } from './writer.ts';

/** What a queue in SQLite is without more: a table, an index of what waits, and a commit a task. */
export function openPlain(folder: string): Writer {
  const database = new DatabaseSync(join(folder, 'plain.sqlite'));
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  database.exec(
    `CREATE TABLE tasks (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tool TEXT NOT NULL,
       payload TEXT NOT NULL, status TEXT NOT NULL, created_at INTEGER NOT NULL) STRICT;
     CREATE INDEX tasks_pending ON tasks (seq) WHERE status = 'pending';`,
  );
  const insert = database.prepare(
    "INSERT INTO tasks (id, tool, payload, status, created_at) VALUES (?, ?, ?, 'pending', ?)",
  );
  return {
    add: (number) =>
      insert.run(randomBytes(8).toString('hex'), 'work', JSON.stringify(payloadOf(number)), Date.now()),
    close: () => database.close(),
  };
}
