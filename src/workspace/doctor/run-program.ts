import { execFile } from 'node:child_process';
import { codeOf } from '#kit/errors.ts';

export interface ProgramOutcome {
  /** False: there is no such program. */
  readonly found: boolean;
  /** Exit code 0. */
  readonly ok: boolean;
  readonly output: string;
}

/** Runs a program for at most 10 s and returns what it said on both streams. Never rejects. */
export function runProgram(file: string, args: readonly string[]): Promise<ProgramOutcome> {
  return new Promise((resolve) => {
    execFile(file, [...args], { timeout: 10_000, encoding: 'utf8' }, (error, stdout, stderr) => {
      const found = error === null || codeOf(error) !== 'ENOENT';
      resolve({ found, ok: error === null, output: `${stdout}${stderr}`.trim() });
    });
  });
}
