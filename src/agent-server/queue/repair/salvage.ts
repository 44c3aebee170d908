import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** What could be read of a damaged database's tasks. */
export interface Salvage {
  readonly rows: readonly Row[];
  /** Tasks whose names could be read and nothing else. */
  readonly lostIds: readonly string[];
  /** Places in the order of tasks where something was, or may have been, that cannot be read. */
  readonly unreadable: number;
}

export type Row = Readonly<Record<string, string | number | bigint | null | Uint8Array>>;

/** Places that are looked at one by one after a damaged one. */
const mostPlaces = 1_000_000;

/**
 * Reads every task that can be read, whatever stands between them. `isWhole` says whether a row is what was written,
 * `others` are rows that were found in other ways: they count where the way that leads to them is broken.
 */
export function salvageTasks(
  database: DatabaseSync,
  isWhole: (row: Row) => boolean,
  others: Iterable<Row>,
): Salvage {
  const last = lastPlace(database);
  const after = database.prepare('SELECT * FROM tasks NOT INDEXED WHERE seq > ? ORDER BY seq LIMIT 1');
  const at = database.prepare('SELECT * FROM tasks NOT INDEXED WHERE seq = ?');
  const rows: Row[] = [];
  let unreadable = 0;
  const keep = (row: Row) => {
    if (isWhole(row)) rows.push(row);
    else unreadable += 1;
  };
  for (let place = 0, looked = 0; place < last && looked < mostPlaces; ) {
    const next = tryGet(after, place);
    if (next === undefined) break;
    if (next !== 'unreadable' && placeOf(next) > place) {
      keep(next);
      place = placeOf(next);
      continue;
    }
    place += 1;
    looked += 1;
    const single = tryGet(at, place);
    if (single === 'unreadable') unreadable += 1;
    else if (single !== undefined) keep(single);
  }
  const known = knownIds(database);
  addOthers(rows, [...others].filter(isWhole));
  const found = new Set(rows.map(({ id }) => id));
  return { rows, lostIds: known.filter((id) => !found.has(id)), unreadable };
}

/** Of several states of one task the latest counts. */
function addOthers(rows: Row[], others: readonly Row[]): void {
  const found = new Set(rows.map(({ id }) => id));
  const latest = new Map<unknown, Row>();
  for (const row of others) {
    const before = latest.get(row['id']);
    if (found.has(row['id']) || Number(before?.['updated_at'] ?? -1) > Number(row['updated_at'])) continue;
    latest.set(row['id'], row);
  }
  rows.push(...latest.values());
  rows.sort((left, right) => placeOf(left) - placeOf(right));
}

function placeOf(row: Row): number {
  return Number(row['seq']);
}

function tryGet(statement: StatementSync, place: number): Row | undefined | 'unreadable' {
  try {
    return statement.get(place) as Row | undefined;
  } catch {
    return 'unreadable';
  }
}

/** The highest place that was ever given, as far as any part of the file still tells. */
function lastPlace(database: DatabaseSync): number {
  const told = [
    "SELECT seq AS last FROM sqlite_sequence WHERE name = 'tasks'",
    'SELECT seq AS last FROM tasks NOT INDEXED ORDER BY seq DESC LIMIT 1',
    'SELECT count(*) AS last FROM tasks INDEXED BY sqlite_autoindex_tasks_1',
    'SELECT max(seq) AS last FROM tasks INDEXED BY sqlite_autoindex_tasks_1',
  ].map((sql) => attempt(() => Number(database.prepare(sql).get()?.['last'] ?? 0), 0));
  return Math.max(...told.filter(Number.isSafeInteger));
}

/** The names that the index of names still has. */
function knownIds(database: DatabaseSync): string[] {
  const ids: string[] = [];
  attempt(() => {
    const names = database.prepare('SELECT id FROM tasks INDEXED BY sqlite_autoindex_tasks_1');
    for (const { id } of names.iterate())
      if (typeof id === 'string' && /^[0-9a-f]{16}$/.test(id)) ids.push(id);
  }, undefined);
  return ids;
}

function attempt<T>(run: () => T, otherwise: T): T {
  try {
    return run();
  } catch {
    return otherwise;
  }
}
