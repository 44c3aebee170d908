import { join } from 'node:path';
import type { Cluster } from './provider.ts';
import { type Result, type RunOptions, run, tryRun } from './run.ts';

export type Calls = Pick<Cluster, 'kubectl' | 'tryKubectl' | 'helm'>;

interface Access {
  readonly enter: readonly string[];
  readonly kubeconfig: string;
  /** Folder with kubectl and helm. Default: those on PATH. */
  readonly bin?: string;
}

/** kubectl and helm for a cluster, and the environment in which anything else finds them. */
export function commands({ enter, kubeconfig, bin }: Access): { calls: Calls; env: Record<string, string> } {
  const path = process.env['PATH'] ?? '/usr/bin:/bin';
  const env = { KUBECONFIG: kubeconfig, PATH: bin === undefined ? path : `${bin}:${path}` };
  const program = (name: string) => [...enter, bin === undefined ? name : join(bin, name)];
  const withEnv = (options: RunOptions = {}): RunOptions => ({
    ...options,
    env: { ...(options.env ?? process.env), ...env },
  });
  return {
    env,
    calls: {
      kubectl: (args, options): Promise<string> => run([...program('kubectl'), ...args], withEnv(options)),
      tryKubectl: (args, options): Promise<Result> =>
        tryRun([...program('kubectl'), ...args], withEnv(options)),
      helm: (args, options): Promise<string> => run([...program('helm'), ...args], withEnv(options)),
    },
  };
}
