import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import type { Clock } from '#kit/clock.ts';
import { inheritableDescriptors } from '#kit/descriptors.ts';
import { signalGroup } from '#kit/process.ts';

export interface ChildCommand {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** For descriptors 0, 1 and 2. */
  readonly stdio: readonly ['ignore' | 'pipe', 'inherit' | 'pipe', 'inherit' | 'pipe'];
}

/**
 * Starts a long-lived process of the agent in a group of its own. It inherits nothing but `env`: descriptors
 * that this process was started with (the listening socket!) are /dev/null in it.
 */
export function startChild({ command, cwd, env, stdio }: ChildCommand): ChildProcess {
  const [file = '', ...args] = command;
  const highest = Math.max(2, ...inheritableDescriptors());
  const masked: StdioOptions = [...stdio, ...Array<'ignore'>(highest - 2).fill('ignore')];
  return spawn(file, args, { cwd, env, stdio: masked, detached: true });
}

/** SIGTERM to the process's group, SIGKILL after `graceMs`. Resolves when the process has ended. */
export function endChild(child: ChildProcess, clock: Clock, graceMs: number): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      cancel();
      signalGroup(pid, 'SIGKILL');
      resolve();
    };
    const cancel = clock.after(graceMs, () => signalGroup(pid, 'SIGKILL'));
    if (child.exitCode !== null || child.signalCode !== null) finish();
    else {
      child.once('exit', finish);
      signalGroup(pid, 'SIGTERM');
    }
  });
}
