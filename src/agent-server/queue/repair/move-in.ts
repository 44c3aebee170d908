import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** SQLite's: what is left of one beside another database would be taken for a part of it. */
const files = ['', '-wal', '-shm', '-journal'].map((end) => `tasks.sqlite${end}`);

/** Where a repaired queue waits to take the place of the damaged one. While it is there, the queue is not to be opened. */
export function repairedFolder(folder: string): string {
  return join(folder, 'repaired');
}

/**
 * Moves the damaged files aside and the repaired ones in. Every step can be the last: what is still in the repaired
 * folder says what is still to do. Returns the folder of the damaged files.
 */
export function moveIn(folder: string, now: number): string {
  const done = repairedFolder(folder);
  const stamp = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const damaged = join(folder, `damaged-${stamp}`);
  mkdirSync(damaged, { recursive: true, mode: 0o700 });
  if (existsSync(join(done, 'results'))) {
    for (const name of [...files, 'results']) {
      if (existsSync(join(folder, name))) renameSync(join(folder, name), join(damaged, name));
    }
    syncPath(folder);
    renameSync(join(done, 'results'), join(folder, 'results'));
  }
  if (existsSync(join(done, 'tasks.sqlite'))) {
    renameSync(join(done, 'tasks.sqlite'), join(folder, 'tasks.sqlite'));
  }
  syncPath(folder);
  rmSync(done, { recursive: true });
  syncPath(folder);
  return damaged;
}

/** A file, or the names in a folder, are on disk when this returns. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
