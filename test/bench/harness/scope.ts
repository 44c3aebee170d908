import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { CannotRun } from './bench.ts';

export const checkout = join(import.meta.dirname, '../../..');

/** Which core a process of a bench belongs on; see `Scope.start`. */
export type Side = 'measured' | 'load';

export interface Started {
  readonly pid: number;
  readonly process: ChildProcess;
  /** Ends it: SIGTERM, and SIGKILL after two seconds. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly side?: Side;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly nodeFlags?: readonly string[];
  /** Opens a channel for `process.send`. */
  readonly ipc?: boolean;
  /** Standard input; closed after this text when given, else held open until the scope ends. */
  readonly input?: string;
}

/** What one bench started and made; everything ends and goes when the bench is over, however it went. */
export interface Scope {
  /** A folder of its own with a short path: sockets lie in it. */
  readonly folder: string;
  /** True when processes are bound to cores. */
  readonly pinned: boolean;
  /**
   * Starts `node` with a script. Where `taskset` and two cores are there, what is measured has core 0 to itself
   * and the load with all that stands behind the measured thing has core 1: figures are of one core then.
   * Output goes to a file of the folder.
   */
  start(script: string, args?: readonly string[], options?: StartOptions): Started;
  /** As `start`, another program than node. */
  run(program: string, args?: readonly string[], options?: StartOptions): Started;
  defer(end: () => unknown): void;
}

export class BenchScope implements Scope {
  readonly folder = mkdtempSync('/tmp/pb-');
  readonly pinned = availableParallelism() >= 2 && spawnSync('taskset', ['--version']).status === 0;
  readonly #ends: (() => unknown)[] = [];
  readonly #profileFolder: string | undefined;
  #serial = 0;

  /** With a folder, what is measured leaves its CPU profiles there; figures of such a run are no figures. */
  constructor(profileFolder?: string) {
    this.#profileFolder = profileFolder;
  }

  start(script: string, args: readonly string[] = [], options: StartOptions = {}): Started {
    const flags = [...this.#profiling(options), ...(options.nodeFlags ?? [])];
    return this.run(process.execPath, [...flags, script, ...args], options);
  }

  run(program: string, args: readonly string[] = [], options: StartOptions = {}): Started {
    const file = join(this.folder, `out-${++this.#serial}.log`);
    const core = options.side === 'measured' ? '0' : '1';
    const bound = this.pinned && options.side !== undefined ? ['taskset', '-c', core] : [];
    const [command = '', ...rest] = [...bound, program, ...args];
    const stdio: StdioOptions = ['pipe', 'pipe', 'pipe', ...(options.ipc ? (['ipc'] as const) : [])];
    const child = spawn(command, rest, {
      cwd: options.cwd ?? this.folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: this.folder, ...options.env },
      stdio,
    });
    const out = createWriteStream(file);
    // What is written while it ends belongs to nobody any more.
    out.on('error', () => undefined);
    child.stdout?.pipe(out, { end: false });
    child.stderr?.pipe(out, { end: false });
    child.stdin?.on('error', () => undefined);
    if (options.input !== undefined) child.stdin?.end(options.input);
    const started = { pid: child.pid ?? 0, process: child, stop: () => stop(child) };
    this.defer(async () => {
      await started.stop();
      out.destroy();
    });
    child.once('error', (error) => out.write(`cannot start: ${error.message}\n`));
    child.on('exit', (code) => {
      if (code !== 0 && code !== null) out.write(`exit code ${code}\n`);
    });
    return started;
  }

  #profiling({ side }: StartOptions): string[] {
    if (this.#profileFolder === undefined || side !== 'measured') return [];
    return ['--cpu-prof', `--cpu-prof-dir=${this.#profileFolder}`];
  }

  defer(end: () => unknown): void {
    this.#ends.push(end);
  }

  /** What the processes said, for a bench that failed. */
  transcript(): string {
    const files = Array.from({ length: this.#serial }, (_, index) =>
      join(this.folder, `out-${index + 1}.log`),
    );
    const texts = files.filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8'));
    return texts.map((text) => text.split('\n').slice(-8).join('\n')).join('\n');
  }

  async end(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 2_000);
  await exited;
  clearTimeout(timer);
}

/** The first line of a program's output that begins with `prefix`, without it. Throws when the program ends first. */
export function lineOf(child: ChildProcess, prefix: string, timeoutMs = 20_000): Promise<string> {
  const { stdout } = child;
  if (stdout === null) throw new Error('the program has no output');
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: stdout });
    const timer = setTimeout(() => finish(new Error(`no line "${prefix}…" in ${timeoutMs} ms`)), timeoutMs);
    const onExit = () => finish(new Error(`ended before it said "${prefix}…"`));
    const finish = (error: Error | undefined, line = '') => {
      clearTimeout(timer);
      child.off('exit', onExit);
      lines.close();
      stdout.resume();
      if (error === undefined) resolve(line);
      else reject(error);
    };
    child.once('exit', onExit);
    lines.on('line', (line) => {
      if (line.startsWith(prefix)) finish(undefined, line.slice(prefix.length));
    });
  });
}

/** Asks again every 20 ms until the answer is not undefined; a refusal counts as not yet. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  timeoutMs = 20_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  while (performance.now() < deadline) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`not in time: ${what}`, { cause: last });
}

/** Other people's programs in test/peers, installed when they are not there yet, or others are. Throws CannotRun. */
export function requirePeers(): string {
  const peers = join(checkout, 'test/peers');
  const installed = statSync(join(peers, 'node_modules/.package-lock.json'), { throwIfNoEntry: false });
  const locked = statSync(join(peers, 'package-lock.json'));
  if (installed === undefined || installed.mtimeMs < locked.mtimeMs) {
    const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: peers, stdio: 'inherit' });
    if (status !== 0) throw new CannotRun('the peers of test/peers cannot be installed (npm ci failed)');
  }
  return peers;
}
