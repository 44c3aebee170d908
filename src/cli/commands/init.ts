import type { Command } from 'commander';
import type { Cli } from '../context.ts';
import type { GlobalOptions } from '../session.ts';

export function addInit(program: Command, cli: Cli): void {
  program
    .command('init')
    .description('make the workspace’s folder .ploinky; `up` does it too')
    .addHelpText('after', '\nExample:\n  mkdir my-agents && cd my-agents && ploinky init')
    .action(async (_options: unknown, command: Command) => {
      const { workspace: folder } = command.optsWithGlobals<GlobalOptions>();
      const workspace = await cli.openWorkspace(folder);
      const made = await workspace.init();
      cli.terminal.print(`${made ? 'Made' : 'There is'} a workspace in ${workspace.root}`);
    });
}
