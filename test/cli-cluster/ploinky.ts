import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { checkout, type Outcome, runProgram } from '#test/fixtures/workspace/workspace.ts';

/** The command line against one cluster. */
export interface Ploinky {
  /** Runs `ploinky --kubeconfig FILE ARGS`. Never rejects for an exit code. */
  run(...args: string[]): Promise<Outcome>;
  /** The same; throws with what it printed unless it exits with 0. Returns standard output. */
  must(...args: string[]): Promise<string>;
  /** Starts it and leaves it running, with its standard output piped. */
  start(...args: string[]): ChildProcess;
}

/** `enter` stands before the command: what brings it into the cluster's network. */
export function ploinkyOf(kubeconfig: string, enter: readonly string[] = []): Ploinky {
  const env = { ...process.env, NO_COLOR: '1' };
  const [file = '', ...before] = [...enter, join(checkout, 'bin/ploinky')];
  const all = (args: readonly string[]) => [...before, '--kubeconfig', kubeconfig, ...args];
  const run = (...args: string[]) => runProgram(file, all(args), env);
  return {
    run,
    async must(...args) {
      const outcome = await run(...args);
      if (outcome.code === 0) return outcome.stdout;
      throw new Error(
        `ploinky ${args.join(' ')} exited with ${outcome.code}\n${outcome.stderr}${outcome.stdout}`,
      );
    },
    start: (...args) => spawn(file, all(args), { stdio: ['ignore', 'pipe', 'inherit'], env }),
  };
}
