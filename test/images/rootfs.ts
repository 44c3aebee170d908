import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Layer, readArchive } from '../../scripts/images/archive.ts';
import { runProgram } from '../../scripts/images/program.ts';

type Environment = Readonly<Record<string, string>>;

/** A rootfs in which commands run as in a pod: uid and gid 10001, the root read-only, only /tmp writable. */
export interface Rootfs {
  readonly folder: string;
  /** What runs a command there; the first is the program. `env` is all of its environment but PATH. */
  argv(command: readonly string[], env?: Environment): readonly string[];
  /** Resolves to its standard output; rejects with what it said when it fails. */
  run(command: readonly string[], env?: Environment): Promise<string>;
  remove(): Promise<void>;
}

/** In a mount namespace of its own, which goes with the command. */
const enter = [
  'mount --bind "$0" "$0"',
  'mount -o remount,ro,bind "$0"',
  'mount -t proc proc "$0/proc"',
  'mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"',
  'exec chroot --userspec=10001:10001 "$0" "$@"',
].join(' && ');

const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Unpacks an image into a folder of its own. */
export async function unpackImage(archive: string): Promise<Rootfs> {
  const folder = await mkdtemp(join(tmpdir(), 'ploinky-rootfs-'));
  await chmod(folder, 0o755);
  const { layers } = await readArchive(archive);
  for (const layer of layers) await unpackLayer(archive, layer, folder, []);
  for (const name of ['proc', 'tmp']) await mkdir(join(folder, name), { recursive: true });
  return openRootfs(folder);
}

/** Unpacks an image, and over it /Agent of the agent image, as a volume that is mounted there shows it. */
export async function unpackWithAgent(image: string, agent: string): Promise<Rootfs> {
  const rootfs = await unpackImage(image);
  const { layers } = await readArchive(agent);
  const having = layers.filter(({ files }) => files.some((file) => file.path.startsWith('Agent/')));
  for (const layer of having) await unpackLayer(agent, layer, rootfs.folder, ['Agent']);
  return rootfs;
}

/** Unpacks an image, and all of the agent image at its /Agent: so runtimes mount it that know no subPath. */
export async function unpackWithAgentImage(image: string, agent: string): Promise<Rootfs> {
  const rootfs = await unpackImage(image);
  const target = join(rootfs.folder, 'Agent');
  await mkdir(target);
  const { layers } = await readArchive(agent);
  for (const layer of layers) await unpackLayer(agent, layer, target, []);
  return rootfs;
}

async function unpackLayer(archive: string, { blob }: Layer, folder: string, only: string[]): Promise<void> {
  const script = 'tar -xOf "$0" "$1" | gzip -dcf | tar -C "$2" --numeric-owner -x "${@:3}"';
  await runProgram('bash', ['-c', script, archive, blob, folder, ...only]);
}

function openRootfs(folder: string): Rootfs {
  const argv = (command: readonly string[], env: Environment = {}) => {
    const set = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    return ['env', '-i', path, ...set, 'unshare', '--mount', 'sh', '-c', enter, folder, ...command];
  };
  return {
    folder,
    argv,
    run: (command, env) => runProgram('env', argv(command, env).slice(1)),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
