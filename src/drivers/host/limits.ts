import { access, constants, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Workload } from '../workload.ts';

/** How one run is held to its limits, ready for the shim to carry out. */
export type LimitsPlan =
  | { readonly type: 'cgroups'; readonly groups: readonly CgroupPlan[] }
  /** A program put before the command that places it in a control group of its own. */
  | {
      readonly type: 'wrapper';
      readonly file: string;
      readonly arguments: readonly string[];
      readonly environment: Readonly<Record<string, string>>;
    }
  | { readonly type: 'none'; readonly message: string };

export interface CgroupPlan {
  readonly path: string;
  /** Files to write before a process enters, in order. A name ending in `?` may be missing. */
  readonly settings: readonly (readonly [file: string, value: string])[];
}

/** What this host offers; found once at start. */
export type LimitsMethod =
  | { readonly type: 'v1'; readonly bases: Readonly<Record<'memory' | 'pids', string> & { cpu?: string }> }
  | { readonly type: 'v2'; readonly base: string }
  | {
      readonly type: 'systemd';
      readonly file: string;
      readonly environment: Readonly<Record<string, string>>;
    }
  | { readonly type: 'none'; readonly message: string };

type Limits = Workload['runtime']['limits'];

/** Pure: what holds the run named `key` to `limits` with this host's method. */
export function planLimits(method: LimitsMethod, key: string, limits: Limits): LimitsPlan {
  switch (method.type) {
    case 'v1':
      return { type: 'cgroups', groups: versionOneGroups(method.bases, key, limits) };
    case 'v2':
      return { type: 'cgroups', groups: [{ path: join(method.base, key), settings: versionTwo(limits) }] };
    case 'systemd':
      return {
        type: 'wrapper',
        file: method.file,
        arguments: ['--user', '--scope', '--quiet', '--collect', ...systemdProperties(limits), '--'],
        environment: method.environment,
      };
    case 'none':
      return { type: 'none', message: method.message };
  }
}

function versionOneGroups(
  bases: Extract<LimitsMethod, { type: 'v1' }>['bases'],
  key: string,
  limits: Limits,
): CgroupPlan[] {
  const groups: CgroupPlan[] = [
    { path: join(bases.pids, key), settings: [['pids.max', String(limits.pids)]] },
  ];
  if (limits.memoryBytes !== undefined) {
    const bytes = String(limits.memoryBytes);
    groups.push({
      path: join(bases.memory, key),
      settings: [
        ['memory.limit_in_bytes', bytes],
        ['memory.memsw.limit_in_bytes?', bytes],
      ],
    });
  }
  if (limits.cpu !== undefined && bases.cpu !== undefined) {
    groups.push({
      path: join(bases.cpu, key),
      settings: [
        ['cpu.cfs_period_us', '100000'],
        ['cpu.cfs_quota_us', String(Math.max(1_000, Math.round(limits.cpu * 100_000)))],
      ],
    });
  }
  return groups;
}

function versionTwo(limits: Limits): [string, string][] {
  const settings: [string, string][] = [['pids.max', String(limits.pids)]];
  if (limits.memoryBytes !== undefined) {
    settings.push(['memory.max', String(limits.memoryBytes)], ['memory.swap.max?', '0']);
  }
  if (limits.cpu !== undefined) {
    settings.push(['cpu.max?', `${Math.max(1_000, Math.round(limits.cpu * 100_000))} 100000`]);
  }
  return settings;
}

function systemdProperties(limits: Limits): string[] {
  const properties = ['-p', `TasksMax=${limits.pids}`];
  if (limits.memoryBytes !== undefined) {
    properties.push('-p', `MemoryMax=${limits.memoryBytes}`, '-p', 'MemorySwapMax=0');
  }
  if (limits.cpu !== undefined)
    properties.push('-p', `CPUQuota=${Math.max(1, Math.round(limits.cpu * 100))}%`);
  return properties;
}

export interface LimitsHost {
  /** Name of this workspace's group, unique on the machine. */
  readonly group: string;
  readonly isRoot: boolean;
  /** Tries `systemd-run --user --scope`; answers with what it needs to work, or undefined. */
  trySystemd(): Promise<Extract<LimitsMethod, { type: 'systemd' }> | undefined>;
}

/** Looks for a way to limit memory and processes: delegated v2, v1 as root, systemd's user manager. */
export async function probeLimits(host: LimitsHost): Promise<LimitsMethod> {
  const own = await ownGroups().catch(() => new Map<string, string>());
  return (
    (await probeVersionTwo(own, host)) ??
    (await probeVersionOne(own, host)) ??
    (await host.trySystemd()) ?? {
      type: 'none',
      message:
        'memory and pids limits need a delegated control group (cgroup v2), systemd --user, or cgroup v1 as root; none is here',
    }
  );
}

/** Folder of this process's group by controller name; `''` is the unified hierarchy. */
async function ownGroups(): Promise<Map<string, string>> {
  const mounts = await controllerMounts();
  const groups = new Map<string, string>();
  for (const line of (await readFile('/proc/self/cgroup', 'utf8')).trim().split('\n')) {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    for (const controller of controllers.split(',')) {
      const mount = mounts.get(controller);
      if (mount !== undefined) groups.set(controller, join(mount, path));
    }
  }
  return groups;
}

async function controllerMounts(): Promise<Map<string, string>> {
  const mounts = new Map<string, string>();
  for (const line of (await readFile('/proc/self/mounts', 'utf8')).split('\n')) {
    const [, folder = '', type = '', options = ''] = line.split(' ');
    if (type === 'cgroup2') mounts.set('', folder);
    if (type === 'cgroup') for (const option of options.split(',')) mounts.set(option, folder);
  }
  return mounts;
}

async function probeVersionOne(
  own: Map<string, string>,
  host: LimitsHost,
): Promise<LimitsMethod | undefined> {
  const base = async (controller: string) => {
    const parent = own.get(controller);
    if (parent === undefined) return undefined;
    const folder = join(parent, host.group);
    const works = await makeGroup(folder);
    // Only tried here: the first run that needs it makes it, the last one removes it.
    await rmdir(folder).catch(() => undefined);
    return works ? folder : undefined;
  };
  const [memory, pids, cpu] = await Promise.all([base('memory'), base('pids'), base('cpu')]);
  if (memory === undefined || pids === undefined) return undefined;
  return { type: 'v1', bases: { memory, pids, ...(cpu === undefined ? {} : { cpu }) } };
}

/**
 * A group that holds processes cannot give controllers to children, so ours is a sibling of our own
 * (root: a child of the hierarchy's root).
 */
async function probeVersionTwo(
  own: Map<string, string>,
  host: LimitsHost,
): Promise<LimitsMethod | undefined> {
  const mine = own.get('');
  if (mine === undefined) return undefined;
  const mount = (await controllerMounts()).get('') ?? '/sys/fs/cgroup';
  const parent = host.isRoot ? mount : dirname(mine);
  if (!parent.startsWith(mount)) return undefined;
  const enabled = await readFile(join(parent, 'cgroup.subtree_control'), 'utf8').catch(() => '');
  if (!enabled.includes('memory') || !enabled.includes('pids')) return undefined;
  const base = join(parent, host.group);
  if (!(await makeGroup(base))) return undefined;
  const wanted = enabled.includes('cpu') ? '+memory +pids +cpu' : '+memory +pids';
  const given = await writeFile(join(base, 'cgroup.subtree_control'), wanted).then(
    () => true,
    () => false,
  );
  return given && (await writable(join(parent, 'cgroup.procs'))) ? { type: 'v2', base } : undefined;
}

async function makeGroup(path: string): Promise<boolean> {
  await mkdir(path, { recursive: true }).catch(() => undefined);
  return writable(join(path, 'cgroup.procs'));
}

function writable(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}
