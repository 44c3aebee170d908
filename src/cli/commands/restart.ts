import type { Command } from 'commander';
import type { Agent } from '#api/agent.ts';
import { restartAnnotation } from '#api/labels.ts';
import { agentResource } from '#api/resources.ts';
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
        const changed: Agent[] = [];
        for (const name of names) {
          const patch = { type: 'merge' as const, body: { metadata: { annotations } } };
          changed.push(
            await client.patch<Agent>(agentResource, { namespace, name }, patch, { fieldManager }),
          );
        }
        printChanged(cli, agentResource, changed, { format, word: 'restarted' });
        for (const agent of changed) {
          const why = suspendedBy(agent);
          if (why !== undefined) cli.terminal.note(`${agent.metadata.name} stays suspended: ${why}.`);
        }
      });
    });
}

/** The field that keeps it from running, whatever is restarted. */
export function suspendedBy({ spec }: Agent): string | undefined {
  const { suspend, replicas } = spec.runtime;
  if (suspend) return 'spec.runtime.suspend is true; apply it with false to start it';
  return replicas === 0 ? 'spec.runtime.replicas is 0; `ploinky scale` starts it' : undefined;
}
