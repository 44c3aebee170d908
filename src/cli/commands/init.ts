import type { Command } from 'commander';
import type { Cli } from '../context.ts';
import { type GlobalOptions, requireWorkspace } from '../target.ts';

export function addInit(program: Command, cli: Cli): void {
  program
    .command('init')
    .description('make the workspace’s folder .ploinky; `up` does it too')
    .addHelpText('after', '\nExample:\n  mkdir my-agents && cd my-agents && ploinky init')
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const folder = requireWorkspace(
        'init',
        options,
        'A cluster needs no folder; `ploinky install` prepares it.',
      );
      const workspace = await cli.openWorkspace(folder);
      const made = await workspace.init();
      cli.terminal.print(`${made ? 'Made' : 'There is'} a workspace in ${workspace.root}`);
    });
}
