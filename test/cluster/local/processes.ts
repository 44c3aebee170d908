import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Component } from './components.ts';
import { enterNetwork, type Place } from './place.ts';

/** A process that is told from another one that got its number later. */
interface Recorded {
  readonly pid: number;
  /** Clock ticks since the machine's start. */
  readonly started: string;
  readonly argv: readonly string[];
}

/**
 * The process that holds the cluster's mount namespace. In it all that is written below /var goes to the cluster's
 * folder: kubelet and containerd keep sockets, links and caches at fixed places there, which two clusters would share.
 * Names are asked of the cluster's own DNS, so that a registry outside does not exist at once instead of timing out.
 */
export async function startAnchor(place: Place, pause: string): Promise<void> {
  const [upper, work] = [place.file('var'), place.file('var-work')];
  for (const folder of [upper, work]) await mkdir(folder, { recursive: true });
  const resolver = place.file('config', 'resolv.conf');
  await writeFile(resolver, `nameserver ${place.dns}\n`);
  const script = [
    `mount -t overlay overlay -o lowerdir=/var,upperdir=${upper},workdir=${work} /var`,
    `{ [ ! -e /etc/resolv.conf ] || mount --bind ${resolver} /etc/resolv.conf; }`,
    `exec ${pause}`,
  ].join(' && ');
  const unshare = ['unshare', '--mount', '--propagation', 'slave', 'sh', '-c', script];
  const log = place.file('log', 'anchor.log');
  const pid = launch([...enterNetwork(place), ...unshare], log);
  await record(place, 'anchor', pid, []);
  for (let tries = 0; !isProgram(pid, pause); tries += 1) {
    if (tries > 200) throw new Error(`no mount namespace for the cluster: ${await readFile(log, 'utf8')}`);
    await sleep(10);
  }
}

/** Starts a component in the cluster's namespaces. It outlives this process; `stopComponent` ends it. */
export async function startComponent(place: Place, name: Component, argv: readonly string[]): Promise<void> {
  const anchor = await recorded(place, 'anchor');
  if (anchor === undefined || !isAlive(anchor)) throw new Error(`the cluster ${place.name} is not up`);
  const mount = ['nsenter', `--mount=/proc/${anchor.pid}/ns/mnt`];
  const pid = launch([...mount, ...enterNetwork(place), ...argv], place.file('log', `${name}.log`));
  await record(place, name, pid, argv);
}

/** Starts a component that was stopped, as it was. */
export async function startAgain(place: Place, name: Component): Promise<void> {
  const known = await recorded(place, name);
  if (known === undefined) throw new Error(`${name} was never started in the cluster ${place.name}`);
  if (!isAlive(known)) await startComponent(place, name, known.argv);
}

/** Starts a program outside the cluster's namespaces, for a cluster that has none on this machine. */
export async function startOutside(place: Place, name: Component, argv: readonly string[]): Promise<void> {
  for (const folder of ['log', 'run']) await mkdir(place.file(folder), { recursive: true });
  if ((await pidOf(place, name)) !== undefined) return;
  await record(place, name, launch(argv, place.file('log', `${name}.log`)), argv);
}

/**
 * Ends a component, with SIGKILL after `graceMilliseconds`: API server and etcd wait for their clients' watches.
 * Does nothing when it does not run.
 */
export async function stopComponent(place: Place, name: string, graceMilliseconds = 2000): Promise<void> {
  const known = await recorded(place, name);
  if (known === undefined || !isAlive(known)) return;
  signal(known.pid, 'SIGTERM');
  // One that is paused sees SIGTERM only when it goes on.
  signal(known.pid, 'SIGCONT');
  const deadline = Date.now() + graceMilliseconds;
  while (isAlive(known) && Date.now() < deadline) await sleep(20);
  if (!isAlive(known)) return;
  signal(known.pid, 'SIGKILL');
  while (isAlive(known)) await sleep(20);
}

export async function signalComponent(place: Place, name: Component, what: NodeJS.Signals): Promise<void> {
  const known = await recorded(place, name);
  if (known === undefined || !isAlive(known))
    throw new Error(`${name} does not run in the cluster ${place.name}`);
  signal(known.pid, what);
}

/** Names of the processes that run, the anchor among them. */
export async function running(place: Place): Promise<string[]> {
  const names = await readdir(place.file('run')).catch(() => []);
  const found: string[] = [];
  for (const name of names) {
    const known = await recorded(place, name);
    if (known !== undefined && isAlive(known)) found.push(name);
  }
  return found;
}

export async function pidOf(place: Place, name: string): Promise<number | undefined> {
  const known = await recorded(place, name);
  return known !== undefined && isAlive(known) ? known.pid : undefined;
}

/** Kills processes and waits until they are gone. They are not ours to ask: what held them ended already. */
export async function killAll(pids: readonly number[]): Promise<void> {
  for (const pid of pids) signal(pid, 'SIGKILL');
  for (const pid of pids)
    for (let tries = 0; ticksOf(pid) !== undefined && tries < 250; tries += 1) await sleep(20);
}

function launch(argv: readonly string[], log: string): number {
  const [file = '', ...args] = argv;
  const output = openSync(log, 'a');
  const child = spawn(file, args, { detached: true, stdio: ['ignore', output, output], cwd: '/' });
  closeSync(output);
  child.on('error', () => undefined);
  child.unref();
  if (child.pid === undefined) throw new Error(`${file} cannot be started: is it installed?`);
  return child.pid;
}

async function record(place: Place, name: string, pid: number, argv: readonly string[]): Promise<void> {
  const known: Recorded = { pid, started: ticksOf(pid) ?? '', argv };
  await writeFile(place.file('run', name), JSON.stringify(known));
}

async function recorded(place: Place, name: string): Promise<Recorded | undefined> {
  const text = await readFile(place.file('run', name), 'utf8').catch(() => undefined);
  return text === undefined || text === '' ? undefined : (JSON.parse(text) as Recorded);
}

function isAlive(known: Recorded): boolean {
  return known.started !== '' && ticksOf(known.pid) === known.started;
}

/** When a process began; undefined when there is none or only its exit code is left. */
function ticksOf(pid: number): string | undefined {
  try {
    // The program's name, in parentheses, may hold spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function isProgram(pid: number, path: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(path);
  } catch {
    return false;
  }
}

function signal(pid: number, what: NodeJS.Signals): void {
  try {
    process.kill(pid, what);
  } catch {
    // It ended by itself.
  }
}
