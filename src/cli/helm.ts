import { defaultHomeNamespace } from './cluster/product.ts';
import type { Cli } from './context.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { type GlobalOptions, requireCluster } from './target.ts';

/** Options that the three commands share which run Helm. */
export interface HelmOptions extends GlobalOptions {
  readonly release: string;
  readonly dryRun?: true;
  readonly wait: boolean;
  /** Seconds. */
  readonly timeout: number;
}

/** Of those that bring the chart. */
export interface ChartOptions extends HelmOptions {
  readonly values?: readonly string[];
  readonly set?: readonly string[];
  readonly chart?: string;
}

/** Flags for cluster, namespace and time, and what stands after `--`. */
export function helmFlags(verb: string, options: HelmOptions, extra: readonly string[]): string[] {
  const { kubeconfig, context } = requireCluster(verb, options);
  return [
    ...['--namespace', options.namespace ?? defaultHomeNamespace],
    ...(kubeconfig === undefined ? [] : ['--kubeconfig', kubeconfig]),
    ...(context === undefined ? [] : ['--kube-context', context]),
    ...(options.wait && !options.dryRun ? ['--wait'] : []),
    ...['--timeout', `${options.timeout}s`],
    ...extra,
  ];
}

export function valueFlags({ values = [], set = [] }: ChartOptions): string[] {
  return [...values.flatMap((file) => ['--values', file]), ...set.flatMap((pair) => ['--set', pair])];
}

/** Runs it and passes its failure on: what it printed says what is wrong, `remedy` what to do besides. */
export async function runHelm(cli: Cli, args: readonly string[], remedy?: string): Promise<void> {
  const code = await cli.runHelm(args);
  if (code !== 0) throw new CliError(exitCodes.failed, `helm ${args[0]} ended with ${code}`, remedy);
}
