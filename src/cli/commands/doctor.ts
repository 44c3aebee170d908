import type { Command } from 'commander';
import type { CheckResult, Cli } from '../context.ts';
import { CliError, describeError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { parseOutputFormat } from '../output.ts';
import type { GlobalOptions } from '../session.ts';
import type { Style } from '../terminal.ts';

const styles: Readonly<Record<CheckResult['level'], Style>> = { ok: 'green', warn: 'yellow', fail: 'red' };

export function addDoctor(program: Command, cli: Cli): void {
  program
    .command('doctor')
    .description('check what this machine can do, and say how to mend what is missing')
    .option('-o, --output <format>', 'table or json', 'table')
    .addHelpText('after', '\nExits with 1 when a check fails.')
    .action(async (_options: unknown, command: Command) => {
      await doctor(cli, command.optsWithGlobals<GlobalOptions & { output: string }>());
    });
}

async function doctor(cli: Cli, { workspace, output }: GlobalOptions & { output: string }): Promise<void> {
  const format = parseOutputFormat(output, ['table', 'json']);
  const results = await Promise.all(
    cli.checks.map(async (check) => {
      const failed = (error: unknown): CheckResult => ({ level: 'fail', detail: describeError(error) });
      return { name: check.name, ...(await check.run(workspace).catch(failed)) };
    }),
  );
  const { terminal } = cli;
  if (format === 'json') terminal.print(JSON.stringify(results, null, 2));
  else {
    const width = Math.max(...results.map(({ name }) => name.length));
    for (const { name, level, detail, remedy } of results) {
      terminal.print(`${terminal.style(styles[level], level.padEnd(4))}  ${name.padEnd(width)}  ${detail}`);
      if (remedy !== undefined) terminal.print(`${' '.repeat(width + 8)}→ ${remedy}`);
    }
  }
  const failed = results.filter(({ level }) => level === 'fail').length;
  if (failed > 0) throw new CliError(exitCodes.failed, '');
}
