import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Archives that are kept of each image: other checkouts, and tests that run, use theirs. */
const keptArchives = 4;

/** Removes the archives of an image but those that were asked for last. The time of a file says when that was. */
export async function removeOldArchives(folder: string, name: string): Promise<void> {
  const files = (await readdir(folder)).filter(
    (file) => file.startsWith(`${name}-`) && file.endsWith('.tar'),
  );
  const times = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).mtimeMs));
  const byAge = files
    .map((file, index) => ({ file, at: times[index] ?? 0 }))
    .sort((one, other) => other.at - one.at);
  for (const { file } of byAge.slice(keptArchives)) await rm(join(folder, file), { force: true });
}
