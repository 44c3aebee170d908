import { mkdir, rename, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from '#test/cluster/folders.ts';
import { withLock } from '#test/cluster/lock.ts';
import { ensureBases } from './bases.ts';
import { buildahBuilder, daemonBuilder } from './builder.ts';
import { exists } from './folders.ts';
import { removeOldArchives } from './old-archives.ts';
import { type BuildSite, baseOf, type ImageName, recipes, tagOf } from './recipes.ts';
import { ensureTools } from './tools.ts';

export type With = 'buildah' | 'docker' | 'podman';

export type Ensured =
  | {
      readonly archives: Readonly<Partial<Record<ImageName, string>>>;
      /** Digests of the uncompressed layers of what each image is built on, where the builder knows them. */
      readonly baseLayers: Readonly<Partial<Record<ImageName, readonly string[]>>>;
    }
  /** Why images cannot be built here, as a sentence. */
  | { readonly missing: string };

const checkout = join(import.meta.dirname, '../..');

/** Where archives, base images and buildah's storage are. */
export function imagesFolder(): string {
  return join(cacheFolder(), 'images');
}

/**
 * Builds the images that are not built yet, or not of the sources as they are now, and returns a file for each that
 * clusters can load. The first time takes some minutes, later ones seconds. One process at a time; others wait.
 */
export async function ensureImages(
  names: readonly ImageName[],
  progress: (message: string) => void,
  { with: program = 'buildah' }: { with?: With } = {},
): Promise<Ensured> {
  const cache = imagesFolder();
  return withLock(join(cache, 'lock'), async () => {
    const tools = program === 'buildah' ? await ensureTools(progress) : {};
    if (tools.missing !== undefined) return { missing: tools.missing };
    const site = await openSite(program, cache, progress);
    const archives: Partial<Record<ImageName, string>> = {};
    const baseLayers: Partial<Record<ImageName, readonly string[]>> = {};
    for (const name of names) {
      archives[name] = await ensureArchive(site, name);
      const layers = await site.builder.layers(baseOf(name, site.bases));
      if (layers !== undefined) baseLayers[name] = layers;
    }
    return { archives, baseLayers };
  });
}

async function openSite(
  program: With,
  cache: string,
  progress: (message: string) => void,
): Promise<BuildSite> {
  const built = new Map<ImageName, Promise<string>>();
  const site: BuildSite = {
    ...(await openBuilder(program, cache, progress)),
    ...{ checkout, cache, progress },
    build: (name) => {
      const id = built.get(name) ?? recipes[name](site);
      built.set(name, id);
      return id;
    },
  };
  return site;
}

async function openBuilder(
  program: With,
  cache: string,
  progress: (message: string) => void,
): Promise<Pick<BuildSite, 'builder' | 'bases'>> {
  if (program !== 'buildah') return { builder: daemonBuilder(program) };
  const builder = buildahBuilder(cache);
  return { builder, bases: await ensureBases(builder, { checkout, cache, progress }) };
}

async function ensureArchive(site: BuildSite, name: ImageName): Promise<string> {
  const id = (await site.build(name)).replace(/^sha256:/, '').slice(0, 16);
  const folder = join(site.cache, 'archives');
  const archive = join(folder, `${name}-${id}.tar`);
  if (await exists(archive)) {
    // The time says when it was last asked for: those that are asked for stay.
    await utimes(archive, new Date(), new Date());
    return archive;
  }
  site.progress(`Writing the image ${name}…`);
  await mkdir(folder, { recursive: true });
  const draft = `${archive}.draft`;
  await rm(draft, { force: true });
  await site.builder.save(tagOf(name), draft);
  await rename(draft, archive);
  await removeOldArchives(folder, name);
  return archive;
}
