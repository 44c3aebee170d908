import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { Cluster } from '#test/cluster/provider.ts';

/** Loads image archives one after the other, and says which. */
export async function loadArchives(
  cluster: Cluster,
  archives: readonly string[],
  print: (line: string) => void,
): Promise<void> {
  for (const archive of archives) {
    await cluster.loadImages([archive]);
    print(`Loaded ${basename(archive)}`);
  }
}

/** Why these cannot be loaded, as a sentence; undefined when they can. */
export function archivesProblem(archives: readonly string[]): string | undefined {
  if (archives.length === 0)
    return 'Name image archives to load. `make images` builds them and prints their paths.';
  const missing = archives.filter((archive) => !existsSync(archive));
  if (missing.length === 0) return undefined;
  return `There is no ${missing.join(', no ')}. \`make images\` builds the images and prints where their archives are.`;
}
