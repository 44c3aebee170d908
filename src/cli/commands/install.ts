import { type Command, InvalidArgumentError } from 'commander';
import type { Cli } from '../context.ts';
import { type ChartOptions, type HelmOptions, helmFlags, runHelm, valueFlags } from '../helm.ts';

const examples = `
They run the \`helm\` on PATH with the chart that belongs to this version. The cluster is the current one when none
is named; the namespace of the installation is ploinky-system unless --namespace names another. What stands after
\`--\` goes to helm as it is.

Examples:
  ploinky install --context prod
  ploinky install --values prod.yaml --set router.replicas=3
  ploinky upgrade --dry-run -- --debug`;

/** Helm leaves the release of an install that failed, and refuses to install it again. */
const afterFailure =
  'See what is wrong with `ploinky doctor` and mend it. If the release is there already, also from an install that failed, go on with `ploinky upgrade` and the same flags, or begin anew after `ploinky uninstall`.';

export function addInstall(program: Command, cli: Cli): void {
  withChart(program.command('install [helm-flags...]'))
    .description('install Ploinky into a cluster')
    .addHelpText('after', examples)
    .action(async (extra: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<ChartOptions>();
      const flags = helmFlags('install', options, extra);
      const chart = options.chart ?? (await cli.findChart());
      const args = [
        ...['install', options.release, chart, '--create-namespace'],
        ...[...valueFlags(options), ...dryRun(options), ...flags],
      ];
      await runHelm(cli, args, options.dryRun ? undefined : afterFailure);
    });
}

export function addUpgrade(program: Command, cli: Cli): void {
  withChart(program.command('upgrade [helm-flags...]'))
    .description('bring the installation in a cluster to this version; values that were set stay')
    .addHelpText('after', examples)
    .action(async (extra: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<ChartOptions>();
      const flags = helmFlags('upgrade', options, extra);
      const chart = options.chart ?? (await cli.findChart());
      await runHelm(cli, [
        // Values of a chart's new version count, and over them what was set when it was installed.
        ...['upgrade', options.release, chart, '--reset-then-reuse-values'],
        ...[...valueFlags(options), ...dryRun(options), ...flags],
      ]);
    });
}

export function addUninstall(program: Command, cli: Cli): void {
  withHelm(program.command('uninstall [helm-flags...]'))
    .description('remove Ploinky from a cluster; CRDs, agents and their volumes stay')
    .addHelpText('after', '\nExample:\n  ploinky uninstall --context prod')
    .action(async (extra: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<HelmOptions>();
      const dry = options.dryRun ? ['--dry-run'] : [];
      await runHelm(cli, ['uninstall', options.release, ...dry, ...helmFlags('uninstall', options, extra)]);
    });
}

/** Checked by the cluster, too, which stores nothing. */
function dryRun(options: HelmOptions): string[] {
  return options.dryRun ? ['--dry-run=server'] : [];
}

function withChart(command: Command): Command {
  return withHelm(command)
    .option('--values <file>', 'values of the chart; may be repeated', collect)
    .option('--set <key=value>', 'one value of the chart; may be repeated', collect)
    .option('--chart <folder>', 'another chart than the one of this version');
}

function withHelm(command: Command): Command {
  return command
    .option('--release <name>', 'name of the release', 'ploinky')
    .option('--dry-run', 'show what would be done and do nothing')
    .option('--no-wait', 'do not wait until everything is ready, or gone')
    .option('--timeout <seconds>', 'how long to wait', parseSeconds, 300);
}

function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}

function parseSeconds(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of seconds above 0.');
}
