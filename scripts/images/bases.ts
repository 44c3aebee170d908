import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf } from '#kit/digest.ts';
import type { Builder } from './builder.ts';
import { copyInto, withContext } from './context.ts';
import { ensureRootfs, type RootfsName, rootfsDigest, rootfsNames } from './rootfs.ts';

/** Images to build on, where none can be pulled: by what they stand for, their tags in the builder's storage. */
export type Bases = Readonly<Record<RootfsName | 'node', string>>;

/** Makes the base images that are not there. `checkout` has the npm that goes beside this process's own Node. */
export async function ensureBases(
  builder: Builder,
  { cache, checkout, progress }: { cache: string; checkout: string; progress: (message: string) => void },
): Promise<Bases> {
  const npm = join(checkout, 'node_modules/npm');
  const { version } = JSON.parse(await readFile(join(npm, 'package.json'), 'utf8')) as { version: string };
  const nodeDigest = digestOf({ rootfsDigest, node: process.version, npm: version });
  const bases: Bases = {
    debian: `localhost/ploinky/base-debian:${rootfsDigest}`,
    python: `localhost/ploinky/base-python:${rootfsDigest}`,
    musl: `localhost/ploinky/base-musl:${rootfsDigest}`,
    node: `localhost/ploinky/base-node:${nodeDigest}`,
  };
  for (const name of rootfsNames) {
    if ((await builder.layers(bases[name])) !== undefined) continue;
    const context = await ensureRootfs(cache, progress);
    progress(`Making the base image ${name}…`);
    const file = await writeDockerfile(cache, `FROM scratch\nADD ${name}.tar /\nCMD ["sh"]\n`);
    await builder.build({ tag: bases[name], file, context, args: {} });
  }
  if ((await builder.layers(bases.node)) === undefined) await buildNode(builder, cache, npm, bases);
  return bases;
}

/** As the official image has them: the program and npm in /usr/local. */
async function buildNode(builder: Builder, cache: string, npm: string, bases: Bases): Promise<void> {
  const file = await writeDockerfile(
    cache,
    [
      `FROM ${bases.debian}`,
      'COPY node /usr/local/bin/node',
      'COPY npm /usr/local/lib/node_modules/npm',
      'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
      'CMD ["node"]',
    ].join('\n'),
  );
  await withContext(cache, async (context) => {
    await copyInto(context, { node: process.execPath, npm });
    await builder.build({ tag: bases.node, file, context, args: {} });
  });
}

async function writeDockerfile(cache: string, text: string): Promise<string> {
  await mkdir(cache, { recursive: true });
  const file = join(cache, 'base.Dockerfile');
  await writeFile(file, text);
  return file;
}
