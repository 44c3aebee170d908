import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from './run.ts';

export interface ImageContent {
  /** With registry and tag: `localhost/ploinky/busybox:test`. */
  readonly name: string;
  readonly entrypoint: readonly string[];
  /** A folder, all of which becomes the image's one layer. */
  readonly root: string;
  readonly env?: readonly string[];
}

/** Writes an image of one layer as an archive that containerd, Docker and podman load. Needs no daemon. */
export async function writeImageArchive(image: ImageContent, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const folder = await mkdtemp(join(dirname(target), 'image-'));
  try {
    const layer = join(folder, 'layer.tar');
    await run([...tar, '-cf', layer, '-C', image.root, '.']);
    const digest = createHash('sha256')
      .update(await readFile(layer))
      .digest('hex');
    const config = {
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config: { Entrypoint: image.entrypoint, Env: image.env ?? [] },
      rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
    };
    const manifest = [{ Config: 'config.json', RepoTags: [image.name], Layers: ['layer.tar'] }];
    await writeFile(join(folder, 'config.json'), JSON.stringify(config));
    await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
    const archive = join(folder, 'image.tar');
    await run([...tar, '-cf', archive, '-C', folder, 'manifest.json', 'config.json', 'layer.tar']);
    await rename(archive, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const tar = ['tar', '--owner=0', '--group=0', '--numeric-owner', '--mtime=@0', '--sort=name'];
