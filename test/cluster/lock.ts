import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs `work` while no other process does under the same path. Waits as long as the holder lives; what a holder
 * that died left behind is taken over.
 */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  while (!(await take(path))) await sleep(250);
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function take(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    if (await isHeld(path)) return false;
    // Moved away before it is removed: of two that see the dead holder only one moves its file.
    const dead = `${path}.${process.pid}.dead`;
    await rename(path, dead).catch(() => undefined);
    await rm(dead, { force: true });
    return false;
  }
}

async function isHeld(path: string): Promise<boolean> {
  try {
    const holder = Number(await readFile(path, 'utf8'));
    if (holder > 0) return isAlive(holder);
    // Made and not yet written, or its maker died between the two.
    return Date.now() - (await stat(path)).mtimeMs < 5000;
  } catch {
    // Released in between: the next try finds out.
    return true;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
