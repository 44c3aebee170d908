import { copyFile, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '#kit/errors.ts';

/** The text of a file, empty when there is none. */
export async function readOrEmpty(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  });
}

/**
 * Replaces a file at once, with the mode that it had; a reader sees the old text or the new. What was there is kept
 * beside it. Returns the path of that copy, undefined when there was nothing.
 */
export async function replaceFile(path: string, text: string, now: number): Promise<string | undefined> {
  await mkdir(dirname(path), { recursive: true });
  // Where settings are kept elsewhere and linked, the link stays.
  const target = await realpath(path).catch(() => path);
  const mode = await stat(target).then(
    (found) => found.mode & 0o7777,
    () => undefined,
  );
  const backup = mode === undefined ? undefined : `${path}.${stamp(now)}.bak`;
  if (backup !== undefined) await copyFile(target, backup);
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    const file = await open(temporary, 'w', mode ?? 0o644);
    try {
      if (mode !== undefined) await file.chmod(mode);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return backup;
}

/** `20260131-101500` */
function stamp(now: number): string {
  return new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
}
