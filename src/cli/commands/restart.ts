import type { Command } from 'commander';
import { agentResource } from '#api/agent.ts';
import { restartAnnotation } from '#api/labels.ts';
import type { KubeObject } from '#api/meta.ts';
import { fieldManager } from '../apply.ts';
import { printChanged } from '../changed.ts';
import type { Cli } from '../context.ts';
import { outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { withSession } from '../session.ts';
import type { GlobalOptions } from '../target.ts';

export function addRestart(program: Command, cli: Cli): void {
  program
    .command('restart <agents...>')
    .description('stop and start agents once; also resumes one that is Halted')
    .option('-o, --output <format>', outputHelp, 'table')
    .addHelpText('after', '\nExample:\n  ploinky restart hello')
    .action(async (names: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { output: string }>();
      const format = parseOutputFormat(options.output, outputFormats);
      const annotations = { [restartAnnotation]: new Date(cli.clock.now()).toISOString() };
      await withSession(cli, options, async ({ client, namespace }) => {
        const changed: KubeObject[] = [];
        for (const name of names) {
          const patch = { type: 'merge' as const, body: { metadata: { annotations } } };
          changed.push(await client.patch(agentResource, { namespace, name }, patch, { fieldManager }));
        }
        printChanged(cli, agentResource, changed, { format, word: 'restarted' });
      });
    });
}
