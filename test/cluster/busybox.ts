import { createHash } from 'node:crypto';
import { access, copyFile, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeImageArchive } from './archive.ts';
import { cacheFolder } from './folders.ts';
import type { Missing } from './parts.ts';
import { run } from './run.ts';

/** A small image with a shell, wget, nslookup and an HTTP server, for pods that are not agents. */
export const busyboxImage = 'localhost/ploinky/busybox:test';

/** An archive of `busyboxImage`, made of the machine's statically linked busybox. */
export async function busyboxArchive(): Promise<string | Missing> {
  const program = await readFile('/bin/busybox').catch(() => undefined);
  if (program === undefined) return { missing: 'install busybox-static (apt-get install)' };
  const digest = createHash('sha256').update(program).digest('hex').slice(0, 16);
  const target = join(cacheFolder(), `busybox-${digest}.tar`);
  const isThere = await access(target).then(
    () => true,
    () => false,
  );
  if (isThere) return target;
  const root = await mkdtemp(join(tmpdir(), 'busybox-'));
  try {
    const bin = join(root, 'bin');
    await mkdir(bin);
    await copyFile('/bin/busybox', join(bin, 'busybox'));
    const applets = (await run(['/bin/busybox', '--list']))
      .split('\n')
      .filter((name) => /^[^/]+$/.test(name));
    for (const name of applets) if (name !== 'busybox') await symlink('busybox', join(bin, name));
    await writeImageArchive(
      { name: busyboxImage, entrypoint: ['/bin/sh'], root, env: ['PATH=/bin'] },
      target,
    );
  } finally {
    await rm(root, { recursive: true, force: true });
  }
  return target;
}
