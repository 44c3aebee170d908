import type { Command } from 'commander';
import type { CoreEvent } from '#api/core-kinds.ts';
import type { KubeObject } from '#api/meta.ts';
import { eventResource } from '#api/resources.ts';
import type { Cli } from '../context.ts';
import { byLastSeen } from '../event-time.ts';
import { outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { withSession } from '../session.ts';
import { showObjects } from '../show-objects.ts';
import type { GlobalOptions } from '../target.ts';

interface EventsOptions extends GlobalOptions {
  readonly output: string;
  readonly allNamespaces?: true;
  readonly watch?: true;
}

const examples = `
Examples:
  ploinky events            everything that happened in the namespace
  ploinky events hello -w   to this agent, its pods and its volumes, and what goes on to happen`;

export function addEvents(program: Command, cli: Cli): void {
  program
    .command('events [agents...]')
    .description('show what happened lately, the oldest first')
    .option('-o, --output <format>', outputHelp, 'table')
    .option('-A, --all-namespaces', 'of every namespace')
    .option('-w, --watch', 'go on and show what happens')
    .addHelpText('after', examples)
    .action(async (agents: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<EventsOptions>();
      const format = parseOutputFormat(options.output, outputFormats);
      await withSession(cli, options, (session) =>
        showObjects(cli, session, {
          resource: eventResource,
          format,
          names: [],
          allNamespaces: options.allNamespaces === true,
          wanted: (event) => agents.length === 0 || agents.some((agent) => isAbout(event, agent)),
          order: (left, right) => byLastSeen(left as CoreEvent, right as CoreEvent),
          watch: options.watch === true,
        }),
      );
    });
}

/** About something of that name, or about a pod or a volume claim of the agent. */
export function isAbout(event: KubeObject, agent: string): boolean {
  const { kind, name = '' } = (event as CoreEvent).involvedObject;
  if (name === agent) return true;
  if (!name.startsWith(`${agent}-`)) return false;
  const rest = name.slice(agent.length + 1);
  return (
    (kind === 'Pod' && /^\d+-[a-z0-9]+$/.test(rest)) ||
    (kind === 'PersistentVolumeClaim' && /^workspace-\d+$/.test(rest))
  );
}
