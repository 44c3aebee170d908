import { chmod, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Makes everything in a tree readable to every user, as a package is when it is installed. Links are left
 * alone and never followed; nothing may be changing the tree meanwhile.
 */
export async function openTree(path: string): Promise<void> {
  const { mode } = await lstat(path);
  await chmod(path, (mode & 0o755) | 0o555);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await openTree(child);
    else if (entry.isFile()) await openFile(child);
  }
}

async function openFile(path: string): Promise<void> {
  const { mode } = await lstat(path);
  const wanted = (mode & 0o755) | ((mode & 0o111) === 0 ? 0o444 : 0o555);
  if ((mode & 0o7777) !== wanted) await chmod(path, wanted);
}
