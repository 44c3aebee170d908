import type { Command } from 'commander';
import type { Cli } from '../context.ts';
import { formatData, outputFormats, outputHelp, parseOutputFormat } from '../output.ts';

export function addVersion(program: Command, cli: Cli): void {
  program
    .command('version')
    .description('print the version')
    .option('-o, --output <format>', outputHelp, 'table')
    .action((_options: unknown, command: Command) => {
      const { output } = command.optsWithGlobals<{ output: string }>();
      const format = parseOutputFormat(output, outputFormats);
      const plain = format === 'name' ? cli.version : `ploinky ${cli.version}`;
      cli.terminal.print(formatData({ version: cli.version }, format) ?? plain);
    });
}
