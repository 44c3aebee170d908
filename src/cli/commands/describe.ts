import type { Command } from 'commander';
import type { CoreEvent } from '#api/core-kinds.ts';
import { eventResource } from '#api/resources.ts';
import type { Cli } from '../context.ts';
import { describeObject } from '../describe.ts';
import { byLastSeen } from '../event-time.ts';
import { findKind } from '../kinds.ts';
import { withSession } from '../session.ts';
import type { GlobalOptions } from '../target.ts';

export function addDescribe(program: Command, cli: Cli): void {
  program
    .command('describe <kind> <names...>')
    .description('tell everything about objects, with what happened to them')
    .addHelpText(
      'after',
      '\nExamples:\n  ploinky describe agent hello\n  ploinky describe --context prod -n team agent hello',
    )
    .action(async (kind: string, names: string[], _options: unknown, command: Command) => {
      const resource = findKind(kind);
      const options = command.optsWithGlobals<GlobalOptions>();
      await withSession(cli, options, async ({ client, namespace }) => {
        for (const name of names) {
          const object = await client.get(resource, { namespace, name });
          const { items } = await client.list<CoreEvent>(eventResource, {
            namespace,
            fieldSelector: `involvedObject.name=${name},involvedObject.kind=${resource.kind}`,
          });
          const events = items.sort(byLastSeen);
          cli.terminal.print(
            describeObject(object, events, { terminal: cli.terminal, now: cli.clock.now() }),
          );
        }
      });
    });
}
