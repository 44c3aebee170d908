import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf } from '#kit/digest.ts';
import { exists } from './folders.ts';
import { runProgram } from './program.ts';

// The file systems of the base images, where none can be pulled: one Debian, made by debootstrap, cut in three.

const suite = 'bookworm';
const mirror = 'http://deb.debian.org/debian';

/** In every slice's Debian, and taken out of `debian` again where they have a slice of their own. */
const included = ['ca-certificates', 'git', 'libstdc++6', 'patchelf', 'python3', 'musl', 'busybox-static'];

/** Packages whose files are a slice. Nothing is configured in it, which these do not need. */
const slices = {
  python: [
    ...['python3-minimal', 'python3.11-minimal', 'libpython3.11-minimal', 'libpython3.11-stdlib'],
    ...[
      'libc6',
      'libexpat1',
      'zlib1g',
      'libffi8',
      'libbz2-1.0',
      'liblzma5',
      'libuuid1',
      'libssl3',
      'libcrypt1',
    ],
    ...['dash', 'coreutils', 'libacl1', 'libattr1', 'libselinux1', 'libpcre2-8-0', 'libgmp10'],
  ],
  musl: ['musl', 'busybox-static'],
};

/** Not in `debian`, which stands for debian:bookworm-slim with git; perl serves only git's mail and svn commands. */
const purged = ['python3*', 'libpython3*', 'musl', 'busybox-static', 'perl', 'perl-modules-*', 'libperl5*'];
const emptied = ['usr/share/doc', 'usr/share/man', 'usr/share/locale', 'usr/share/info'];
const emptiedState = ['var/cache/apt', 'var/cache/debconf', 'var/lib/apt/lists', 'var/log'];

export const rootfsNames = ['debian', 'python', 'musl'] as const;
export type RootfsName = (typeof rootfsNames)[number];

/** Changes with all that the file systems are made of. */
export const rootfsDigest = digestOf({ suite, included, slices, purged, emptied, emptiedState, revision: 1 });

/**
 * A folder with `<name>.tar` of each file system, made when it is not in the cache yet. Takes about a minute then, and
 * a Debian mirror.
 */
export async function ensureRootfs(cache: string, progress: (message: string) => void): Promise<string> {
  const folder = join(cache, `rootfs-${rootfsDigest}`);
  if (await exists(folder)) return folder;
  progress('Making a Debian for the base images (about a minute)…');
  const draft = `${folder}.draft`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true });
  const work = join(draft, 'work');
  const root = join(work, 'root');
  await mkdir(work);
  const options = ['--variant=minbase', `--include=${included.join(',')}`];
  await runProgram('debootstrap', [...options, suite, root, mirror]);
  await writeSlice(root, slices.python, join(draft, 'python.tar'));
  await writeMusl(root, work, join(draft, 'musl.tar'));
  await writeDebian(root, join(draft, 'debian.tar'));
  await rm(work, { recursive: true });
  await rename(draft, folder);
  return folder;
}

const top = [
  'etc',
  'etc/passwd',
  'etc/group',
  'etc/nsswitch.conf',
  'tmp',
  'root',
  'usr',
  'proc',
  'sys',
  'dev',
];
const merged = ['bin', 'sbin', 'lib', 'lib64'];

async function writeSlice(root: string, packages: readonly string[], archive: string): Promise<void> {
  const listed = await runProgram('dpkg-query', [
    `--admindir=${root}/var/lib/dpkg`,
    '--listfiles',
    ...packages,
  ]);
  const files = listed
    .split('\n')
    .filter((path) => path.startsWith('/') && !/^\/(\.|usr\/share\/(doc|man|locale|lintian))/.test(path))
    // Packages of this Debian still name /lib and the like, which are links into /usr.
    .map((path) => path.slice(1).replace(/^(bin|sbin|lib|lib64|lib32)\//, 'usr/$1/'));
  const list = `${root}.list`;
  await writeFile(list, [...new Set([...top, ...merged, ...files])].filter((path) => path !== '').join('\n'));
  await pack(root, archive, ['--no-recursion', '--files-from', list]);
}

async function writeMusl(root: string, work: string, archive: string): Promise<void> {
  const plain = join(work, 'musl-plain.tar');
  const folder = join(work, 'musl');
  await writeSlice(root, slices.musl, plain);
  await mkdir(folder);
  await runProgram('tar', ['-C', folder, '-xf', plain]);
  await runProgram('chroot', [folder, '/bin/busybox', '--install', '-s', '/bin']);
  await pack(folder, archive, ['.']);
}

async function writeDebian(root: string, archive: string): Promise<void> {
  const purge = ['dpkg-query', '-W', '-f', "'${Package}\\n'", ...purged.map((name) => `'${name}'`)].join(' ');
  const script = `${purge} 2>/dev/null | xargs dpkg --purge --force-depends`;
  await runProgram('chroot', [root, 'sh', '-c', script], { env: { DEBIAN_FRONTEND: 'noninteractive' } });
  const clear = [...emptied, ...emptiedState].map((path) => `${root}/${path}`);
  await runProgram('find', [...clear, '-mindepth', '1', '-delete']);
  await pack(root, archive, ['.']);
}

async function pack(root: string, archive: string, what: readonly string[]): Promise<void> {
  await runProgram('tar', ['-C', root, '--numeric-owner', '--sort=name', '-cf', archive, ...what]);
}
