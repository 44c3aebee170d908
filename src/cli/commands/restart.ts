import type { Command } from 'commander';
import { agentResource } from '#api/agent.ts';
import { restartAnnotation } from '#api/labels.ts';
import { fieldManager } from '../apply.ts';
import type { Cli } from '../context.ts';
import { type ObjectOptions, withClient } from '../session.ts';

export function addRestart(program: Command, cli: Cli): void {
  program
    .command('restart <agents...>')
    .description('stop and start agents once; also resumes one that is Halted')
    .addHelpText('after', '\nExample:\n  ploinky restart hello')
    .action(async (names: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<ObjectOptions>();
      const { namespace } = options;
      const annotations = { [restartAnnotation]: new Date(cli.clock.now()).toISOString() };
      await withClient(cli, options, async (client) => {
        for (const name of names) {
          const patch = { type: 'merge' as const, body: { metadata: { annotations } } };
          await client.patch(agentResource, { namespace, name }, patch, { fieldManager });
          cli.terminal.print(`agent.${agentResource.group}/${name} restarted`);
        }
      });
    });
}
