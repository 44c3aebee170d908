import { spawn } from 'node:child_process';
import type { RotatingLog } from './rotating-log.ts';

/** How to start one of the workspace's processes. */
export interface ProgramSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Descriptors of this process that the program gets as 3, 4, … It gets no others. */
  readonly passFds: readonly number[];
  /** Written to its standard input, which then stays open. Default: nothing. */
  readonly input?: string;
}

export interface RunningProgram {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when it has ended and all its output is in the log. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

/** Starts a program. Rejects when it cannot be started at all. */
export type SpawnProgram = (spec: ProgramSpec, output: RotatingLog) => Promise<RunningProgram>;

/**
 * The program's standard input is a pipe whose other end only this process holds: it reads EOF when the
 * watchdog is gone, however that ended, and exits. Its output goes to the log.
 * Descriptors that are not passed on do not leak: Node marks what it inherited close-on-exec when it starts.
 */
export const spawnProgram: SpawnProgram = async (spec, output) => {
  const child = spawn(spec.command, [...spec.args], {
    cwd: spec.cwd,
    env: spec.env,
    stdio: ['pipe', 'pipe', 'pipe', ...spec.passFds],
  });
  child.stdin?.on('error', () => undefined);
  if (spec.input !== undefined) child.stdin?.write(spec.input);
  child.stdout?.on('data', (data: Buffer) => output.write(data));
  child.stderr?.on('data', (data: Buffer) => output.write(data));
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    let ended = { code: null as number | null, signal: null as string | null };
    child.once('exit', (code, signal) => {
      ended = { code, signal };
      // A grandchild may hold the output open for long: what is buffered now is all that matters.
      setImmediate(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      });
    });
    child.once('close', () => resolve(ended));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  return { pid: child.pid ?? 0, kill: (signal) => void child.kill(signal), exited };
};
