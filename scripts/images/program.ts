import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { CodedError } from '#kit/errors.ts';

export interface ProgramOptions {
  readonly cwd?: string;
  /** Added to this process's own. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program to its end and returns its standard output. Throws ProgramFailed with the end of what it said. */
export async function runProgram(
  file: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<string> {
  const child = spawn(file, [...args], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (code === 0) return stdout;
  const said = `${stdout}${stderr}`.trim().split('\n').slice(-15).join('\n');
  throw new CodedError('ProgramFailed', `${file} ${args.join(' ')} ended with ${code}:\n${said}`);
}

/** Whether a program is on PATH. */
export function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' }).status === 0;
}
