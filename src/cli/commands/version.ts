import type { Command } from 'commander';
import type { Cli } from '../context.ts';
import { parseOutputFormat } from '../output.ts';

export function addVersion(program: Command, cli: Cli): void {
  program
    .command('version')
    .description('print the version')
    .option('-o, --output <format>', 'table or json', 'table')
    .action((_options: unknown, command: Command) => {
      const { output } = command.optsWithGlobals<{ output: string }>();
      const json = parseOutputFormat(output, ['table', 'json']) === 'json';
      cli.terminal.print(json ? JSON.stringify({ version: cli.version }) : `ploinky ${cli.version}`);
    });
}
