import type { Command } from 'commander';
import type { CoreEvent } from '#api/core-kinds.ts';
import { eventResource } from '#api/resources.ts';
import type { Cli } from '../context.ts';
import { describeObject } from '../describe.ts';
import { findKind } from '../kinds.ts';
import { type ObjectOptions, withClient } from '../session.ts';

export function addDescribe(program: Command, cli: Cli): void {
  program
    .command('describe <kind> <names...>')
    .description('tell everything about objects, with what happened to them')
    .addHelpText('after', '\nExample:\n  ploinky describe agent hello')
    .action(async (kind: string, names: string[], _options: unknown, command: Command) => {
      const resource = findKind(kind);
      const options = command.optsWithGlobals<ObjectOptions>();
      const { namespace } = options;
      await withClient(cli, options, async (client) => {
        for (const name of names) {
          const object = await client.get(resource, { namespace, name });
          const { items } = await client.list<CoreEvent>(eventResource, {
            namespace,
            fieldSelector: `involvedObject.name=${name},involvedObject.kind=${resource.kind}`,
          });
          const events = items.sort((a, b) => timeOf(a) - timeOf(b));
          cli.terminal.print(
            describeObject(object, events, { terminal: cli.terminal, now: cli.clock.now() }),
          );
        }
      });
    });
}

function timeOf({ lastTimestamp, eventTime }: CoreEvent): number {
  return Date.parse(lastTimestamp ?? eventTime ?? '') || 0;
}
