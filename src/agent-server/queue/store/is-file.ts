import { lstatSync } from 'node:fs';

/** Whether it is a file with something in it: a queue file with an empty list is nothing. */
export function isFile(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size > '[]'.length;
}
