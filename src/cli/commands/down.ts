import type { Command } from 'commander';
import type { Cli } from '../context.ts';
import { type GlobalOptions, requireWorkspace } from '../target.ts';

const outcomes = {
  stopped: 'Stopped.',
  tidied: 'It had been killed; what it left is removed.',
  nothing: 'It was not up.',
} as const;

export function addDown(program: Command, cli: Cli): void {
  program
    .command('down')
    .description('end the workspace’s agents and processes; their files stay')
    .addHelpText('after', '\nExample:\n  ploinky down --workspace ~/my-agents')
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const folder = requireWorkspace('down', options, '`ploinky uninstall` removes Ploinky from a cluster.');
      const workspace = await cli.openWorkspace(folder);
      if ((await workspace.running()) !== undefined) cli.terminal.note('Stopping…');
      cli.terminal.print(outcomes[await workspace.stop()]);
    });
}
