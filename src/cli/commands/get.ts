import type { Command } from 'commander';
import type { Cli } from '../context.ts';
import { findKind } from '../kinds.ts';
import { outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { withSession } from '../session.ts';
import { showObjects } from '../show-objects.ts';
import type { GlobalOptions } from '../target.ts';

interface GetOptions extends GlobalOptions {
  readonly output: string;
  readonly selector?: string;
  readonly allNamespaces?: true;
  readonly watch?: true;
}

const examples = `
Examples:
  ploinky get agents
  ploinky get ag hello -o yaml
  ploinky get agents --watch
  ploinky get agents --context prod --all-namespaces`;

export function addGet(program: Command, cli: Cli): void {
  program
    .command('get <kind> [names...]')
    .description('show objects: agents, routes, tasks, secrets, configmaps, events, leases, namespaces')
    .option('-o, --output <format>', outputHelp, 'table')
    .option('-l, --selector <labels>', 'only objects with these labels')
    .option('-A, --all-namespaces', 'of every namespace')
    .option('-w, --watch', 'go on and show each change')
    .addHelpText('after', examples)
    .action(async (kind: string, names: string[], _options: unknown, command: Command) => {
      const resource = findKind(kind);
      const options = command.optsWithGlobals<GetOptions>();
      const format = parseOutputFormat(options.output, outputFormats);
      await withSession(cli, options, (session) =>
        showObjects(cli, session, {
          resource,
          format,
          names,
          allNamespaces: options.allNamespaces === true,
          selector: options.selector,
          watch: options.watch === true,
        }),
      );
    });
}
