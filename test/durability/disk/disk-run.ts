import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { dumpOf } from '../power/dump.ts';
import { buildPrograms, buildShim } from '../programs/build.ts';

export interface DiskOutcome {
  /** Ids that were acknowledged, at any time. */
  readonly acked: readonly string[];
  readonly ackedDuring: number;
  readonly refused: number;
  readonly refusedKeys: readonly string[];
  /** What the refused were told. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly slowestRefusalMs: number;
  /** Of 40 tasks that were done before, those that could be read during the fault. */
  readonly readable: number;
  /** From the end of the fault to the first acknowledged order, and from there until all that was acknowledged was done. */
  readonly recoveredMs: number;
  readonly doneMs: number;
  readonly unfinished: number;
  readonly ranTwice: number;
  /** Tasks that were refused and are there. */
  readonly ghosts: number;
  readonly running: number;
  readonly pending: number;
  /** Acknowledged tasks that a killed process would not have found during the fault, and after the end. */
  readonly lostIfKilled: number;
  readonly lost: number;
  /** Tasks that were refused and that a killed process would have found. */
  readonly ghostsIfKilled: number;
}

export type Fault = 'full' | 'flush';

/** Bytes of the disk that is filled. */
const diskBytes = 8 * 1024 * 1024;

/** Lets a queue work while its disk fails; a sentence when that cannot be had here. */
export async function runDisk(fault: Fault): Promise<DiskOutcome | { readonly missing: string }> {
  const place = mkdtempSync(join(tmpdir(), 'disk-'));
  try {
    const { program, thread } = await buildPrograms('disk-program', place);
    const disk = join(place, 'disk');
    const aside = join(place, 'aside');
    for (const folder of [disk, aside]) mkdirSync(folder);
    const argv = [process.execPath, program, fault, join(disk, 'queue'), aside];
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DURABILITY_THREAD: thread };
    const ready = fault === 'full' ? ownDisk(argv, disk) : failingFlushes(argv, place, disk);
    if ('missing' in ready) return ready;
    return judge(await runProgram(ready.argv, { ...env, ...ready.env }), aside);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

type Ready =
  | { readonly argv: readonly string[]; readonly env: Record<string, string> }
  | { readonly missing: string };

/** A small disk that only the program sees; it goes with it. */
function ownDisk(argv: readonly string[], disk: string): Ready {
  const mount = `mount -t tmpfs -o size=${diskBytes} none ${disk}`;
  const inside = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c'];
  const { status, stderr, error } = spawnSync(inside[0] ?? '', [...inside.slice(1), mount], {
    encoding: 'utf8',
  });
  if (error !== undefined) return { missing: 'there is no unshare' };
  if (status !== 0) return { missing: `no disk can be mounted (root is needed): ${stderr.trim()}` };
  return { argv: [...inside, `${mount} && exec "$@"`, 'sh', ...argv], env: {} };
}

function failingFlushes(argv: readonly string[], place: string, disk: string): Ready {
  const shim = buildShim(place);
  if ('missing' in shim) return shim;
  const env = { LD_PRELOAD: shim.library, SHIM_FOLDER: disk, SHIM_FAULT: join(place, 'fault') };
  return { argv, env };
}

type Reported = Omit<DiskOutcome, 'lostIfKilled' | 'lost' | 'ghostsIfKilled'>;

async function runProgram(
  [command = '', ...args]: readonly string[],
  env: Record<string, string>,
): Promise<Reported> {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), 90_000);
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    child.exitCode ?? once(child, 'exit'),
  ]);
  clearTimeout(timer);
  if (!stdout.startsWith('{')) throw new Error(`the program ended without a report: ${stderr}`);
  return JSON.parse(stdout) as Reported;
}

function judge(reported: Reported, aside: string): DiskOutcome {
  const killed = dumpOf(join(aside, 'killed')).tasks;
  const closed = dumpOf(join(aside, 'closed')).tasks;
  const missing = (tasks: typeof killed, ids: readonly string[]) => {
    const known = new Set(tasks.map(({ id }) => id));
    return ids.filter((id) => !known.has(id)).length;
  };
  const refused = new Set(reported.refusedKeys);
  return {
    ...reported,
    // The last order was acknowledged after the copy was made.
    lostIfKilled: missing(killed, reported.acked.slice(0, -1)),
    lost: missing(closed, reported.acked),
    ghostsIfKilled: killed.filter(({ key }) => key !== null && refused.has(key)).length,
  };
}
