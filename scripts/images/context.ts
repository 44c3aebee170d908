import { cp, lutimes, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Every file of a build context has this time: builders compare it to tell whether a layer is cached. */
const time = new Date('2026-01-01T00:00:00Z');

/** Runs `work` with an empty folder below `cache`, and removes it. */
export async function withContext<T>(cache: string, work: (folder: string) => Promise<T>): Promise<T> {
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'context-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Copies files and folders into a build context: where in it → from where. */
export async function copyInto(context: string, sources: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, source] of Object.entries(sources)) {
    const target = join(context, path);
    await mkdir(dirname(target), { recursive: true });
    await cp(source, target, { recursive: true, verbatimSymlinks: true });
  }
  for (const name of await readdir(context, { recursive: true }))
    await lutimes(join(context, name), time, time);
}
