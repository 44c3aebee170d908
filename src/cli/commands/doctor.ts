import type { Command } from 'commander';
import { clusterChecks } from '../cluster/doctor/checks.ts';
import { explainClusterError } from '../cluster/errors.ts';
import type { Check, CheckResult, Cli } from '../context.ts';
import { CliError, describeError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { formatData, outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { withCluster } from '../session.ts';
import { type GlobalOptions, targetOf } from '../target.ts';
import { harmless, type Style } from '../terminal.ts';

const styles: Readonly<Record<CheckResult['level'], Style>> = { ok: 'green', warn: 'yellow', fail: 'red' };

type Named = CheckResult & { readonly name: string };

export function addDoctor(program: Command, cli: Cli): void {
  program
    .command('doctor')
    .description('check what this machine can do, or a cluster, and say how to mend what is missing')
    .option('-o, --output <format>', outputHelp, 'table')
    .addHelpText('after', '\nExits with 1 when a check fails.')
    .action(async (_options: unknown, command: Command) => {
      await doctor(cli, command.optsWithGlobals<GlobalOptions & { output: string }>());
    });
}

async function doctor(cli: Cli, options: GlobalOptions & { output: string }): Promise<void> {
  const format = parseOutputFormat(options.output, outputFormats);
  const target = targetOf(options, cli.calledAs);
  const results =
    target.kind === 'workspace'
      ? await runChecks(cli.checks, target.folder, (error) => error)
      : await withCluster(cli, options, (cluster) =>
          runChecks(clusterChecks(cli, cluster, options), '', (error) => explainClusterError(error, cluster)),
        );
  const { terminal } = cli;
  const data = formatData(results, format);
  if (data !== undefined) terminal.print(data);
  else if (format === 'name') for (const { name } of results) terminal.print(name);
  else printResults(cli, results);
  if (results.some(({ level }) => level === 'fail')) throw new CliError(exitCodes.failed, '');
}

async function runChecks(
  checks: readonly Check[],
  folder: string,
  explain: (error: unknown) => unknown,
): Promise<Named[]> {
  return Promise.all(
    checks.map(async ({ name, run }) => {
      const result = await run(folder).catch((error: unknown) => failed(explain(error)));
      return { name, ...result };
    }),
  );
}

function failed(error: unknown): CheckResult {
  const [detail = '', ...rest] = describeError(error).split('\n');
  return { level: 'fail', detail, ...(rest.length > 0 && { remedy: rest.join('\n').trim() }) };
}

function printResults({ terminal }: Cli, results: readonly Named[]): void {
  const width = Math.max(...results.map(({ name }) => name.length));
  const indent = `\n${' '.repeat(width + 8)}`;
  for (const { name, level, detail, remedy } of results) {
    const mark = terminal.style(styles[level], level.padEnd(4));
    terminal.print(`${mark}  ${name.padEnd(width)}  ${harmless(detail).replaceAll('\n', indent)}`);
    if (remedy !== undefined)
      terminal.print(`${indent.slice(1)}→ ${harmless(remedy).replaceAll('\n', indent)}`);
  }
}
