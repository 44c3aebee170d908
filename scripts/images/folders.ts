import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf, sha256Hex } from '#kit/digest.ts';

/** Whether a file or folder is there. */
export function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** A digest of every file's path and content below a folder; links are not followed. */
export async function digestFolder(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const digests = await Promise.all(
    paths.sort().map(async (path) => [path.slice(folder.length), sha256Hex(await readFile(path))]),
  );
  return digestOf(digests);
}
