import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** Longer results are files, so that the database stays small enough to be read and copied at once. Bytes. */
export const longestInline = 64 * 1024;

/** Results that are too long for the database, each in a file of its own beside it. */
export interface ResultFiles {
  /** Writes it and returns its name; on disk when this returns. */
  write(id: string, attempt: number, text: string): string;
  read(name: string): string;
  remove(name: string): void;
  /** Removes what no task refers to: results of an end that was not recorded any more. */
  sweep(known: ReadonlySet<string>): void;
}

export function openResultFiles(folder: string): ResultFiles {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (name: string) => join(folder, name);
  return {
    write(id, attempt, text) {
      const name = `${id}-${attempt}.json`;
      const draft = pathOf(`${name}.part`);
      try {
        writeDurably(draft, text);
        renameSync(draft, pathOf(name));
        syncFolder(folder);
      } catch (error) {
        rmSync(draft, { force: true });
        rmSync(pathOf(name), { force: true });
        throw error;
      }
      return name;
    },
    read: (name) => readFileSync(pathOf(name), 'utf8'),
    remove: (name) => rmSync(pathOf(name), { force: true }),
    sweep(known) {
      for (const name of readdirSync(folder)) if (!known.has(name)) rmSync(pathOf(name), { force: true });
    },
  };
}

function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'w', 0o600);
  try {
    // All of it: a single write may stop where the disk is full, and says so only to the next one.
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A new name is on disk only once its folder is. */
function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
