import { DatabaseSync } from 'node:sqlite';
import { CodedError, messageOf } from '#kit/errors.ts';

/** One row as it lies on disk. */
export interface Row {
  readonly storage: string;
  readonly key: string;
  readonly version: number;
  /** JSON text, or sealed bytes. */
  readonly data: string | Uint8Array;
}

/**
 * The folder's database: every object at its latest version and the last version given out.
 * WAL with synchronous=FULL: when `commit` returns, the writes survive a kill and a power cut.
 * The file is locked exclusively: a second server on the same folder is refused.
 */
export interface Journal {
  readAll(): Iterable<Row>;
  /** The last version given out; 0 for a new folder. */
  lastVersion(): number;
  begin(): void;
  put(row: Row): void;
  remove(storage: string, key: string): void;
  commit(lastVersion: number): void;
  rollback(): void;
  close(): void;
}

const layout = `
  CREATE TABLE IF NOT EXISTS objects (
    storage TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (storage, key)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT OR IGNORE INTO meta VALUES ('layout', 1), ('version', 0);
`;

/** Opens or makes the database. Throws CodedError `StoreLocked` or `StoreUnreadable`. */
export function openJournal(file: string): Journal {
  const database = openDatabase(file);
  const put = database.prepare(
    'INSERT INTO objects VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, data = excluded.data',
  );
  const remove = database.prepare('DELETE FROM objects WHERE storage = ? AND key = ?');
  const setVersion = database.prepare("UPDATE meta SET value = ? WHERE name = 'version'");
  const rows = database.prepare('SELECT storage, key, version, data FROM objects ORDER BY storage, key');
  return {
    readAll: () => rows.iterate() as Iterable<unknown> as Iterable<Row>,
    lastVersion: () => {
      const row = database.prepare("SELECT value FROM meta WHERE name = 'version'").get();
      return Number(row?.['value'] ?? 0);
    },
    begin: () => database.exec('BEGIN IMMEDIATE'),
    put: (row) => void put.run(row.storage, row.key, row.version, row.data),
    remove: (storage, key) => void remove.run(storage, key),
    commit(lastVersion) {
      setVersion.run(lastVersion);
      database.exec('COMMIT');
    },
    rollback() {
      if (database.isTransaction) database.exec('ROLLBACK');
    },
    close: () => database.close(),
  };
}

function openDatabase(file: string): DatabaseSync {
  try {
    const database = new DatabaseSync(file, { timeout: 2000 });
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    database.exec(layout);
    return database;
  } catch (cause) {
    const locked = /locked|busy/i.test(messageOf(cause));
    throw new CodedError(
      locked ? 'StoreLocked' : 'StoreUnreadable',
      locked
        ? `Another API server uses ${file}.`
        : `The database ${file} cannot be opened: ${messageOf(cause)}.`,
      {
        cause,
        remedy: locked
          ? 'End the other one first.'
          : 'Restore the file from a copy, or remove it to start anew.',
      },
    );
  }
}
