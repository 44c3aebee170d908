import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readLog } from './log-file.ts';
import { repairedFolder } from './move-in.ts';

/** What the files of a queue are before SQLite has touched them: it would put its own sense into what is damaged. */
export type FilesState =
  | { readonly state: 'whole' }
  /** The log has an end that was not written whole. */
  | { readonly state: 'torn'; readonly path: string }
  | { readonly state: 'damaged'; readonly problem: string }
  | { readonly state: 'in use' };

const magic = 'SQLite format 3\0';
/** In the header: with a log. */
const versionsOffset = 18;

/** Looks at a queue's folder as it lies there. */
export function checkFiles(folder: string): FilesState {
  const path = join(folder, 'tasks.sqlite');
  if (existsSync(repairedFolder(folder))) return damage('a repair of it was not finished', path);
  const log = `${path}-wal`;
  const reading = existsSync(log) ? readLog(readFileSync(log)) : undefined;
  if (reading?.state === 'damaged') return damage('its log cannot be read to its end', path);
  const isLogged = reading !== undefined && reading.frames.length > 0;
  const header = headerOf(path);
  const isEmpty = header.length === 0;
  if (isEmpty && (isLogged || hasResults(folder))) return damage('the file is empty or gone', path);
  const isForLog =
    header.toString('latin1', 0, 16) === magic && header.readUInt16BE(versionsOffset) === 0x0202;
  if (isLogged && !isForLog) return damage('the file does not belong to its log', path);
  return reading?.state === 'torn' ? { state: 'torn', path: log } : { state: 'whole' };
}

/** Whoever has it open writes while it is looked at. */
function damage(problem: string, path: string): FilesState {
  return isInUse(path) ? { state: 'in use' } : { state: 'damaged', problem };
}

function headerOf(path: string): Buffer {
  if (!existsSync(path)) return Buffer.alloc(0);
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(100);
    return header.subarray(0, readSync(file, header));
  } finally {
    closeSync(file);
  }
}

function hasResults(folder: string): boolean {
  const results = join(folder, 'results');
  return existsSync(results) && readdirSync(results).length > 0;
}

/** Whether another process has the database open. Changes nothing, also not its log. */
export function isInUse(path: string): boolean {
  if (!existsSync(path)) return false;
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    return typeof error === 'object' && error !== null && 'errcode' in error && error.errcode === 5;
  } finally {
    database?.close();
  }
}
