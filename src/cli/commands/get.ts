import type { Command } from 'commander';
import type { KubeObject, Resource } from '#api/meta.ts';
import type { Client } from '#kube/client.ts';
import type { Cli } from '../context.ts';
import { findKind } from '../kinds.ts';
import { formatResult, type OutputFormat, outputFormats, parseOutputFormat } from '../output.ts';
import { type ObjectOptions, withClient } from '../session.ts';

interface GetOptions extends ObjectOptions {
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
  ploinky get events`;

export function addGet(program: Command, cli: Cli): void {
  program
    .command('get <kind> [names...]')
    .description('show objects: agents, routes, tasks, secrets, configmaps, events, leases, namespaces')
    .option('-o, --output <format>', 'table, wide, yaml, json or name', 'table')
    .option('-l, --selector <labels>', 'only objects with these labels')
    .option('-A, --all-namespaces', 'of every namespace')
    .option('-w, --watch', 'go on and show each change')
    .addHelpText('after', examples)
    .action(async (kind: string, names: string[], _options: unknown, command: Command) => {
      await get(cli, findKind(kind), names, command.optsWithGlobals<GetOptions>());
    });
}

async function get(
  cli: Cli,
  resource: Resource,
  names: readonly string[],
  options: GetOptions,
): Promise<void> {
  const format = parseOutputFormat(options.output, outputFormats);
  await withClient(cli, options, async (client) => {
    const { items, resourceVersion } = await read(client, resource, names, options);
    const tables = format === 'table' || format === 'wide';
    const empty = items.length === 0 && (tables || format === 'name');
    if (empty) cli.terminal.note(`No ${resource.plural} found.`);
    else cli.terminal.print(show(cli, resource, items, { format, names, options }));
    if (options.watch) await watch(cli, client, resource, { format, names, options, resourceVersion });
  });
}

async function read(client: Client, resource: Resource, names: readonly string[], options: GetOptions) {
  const namespace = options.namespace;
  if (names.length > 0) {
    const items = await Promise.all(names.map((name) => client.get(resource, { namespace, name })));
    return { items, resourceVersion: undefined };
  }
  const where = options.allNamespaces ? {} : { namespace };
  const selector = options.selector === undefined ? {} : { labelSelector: options.selector };
  const list = await client.list(resource, { ...where, ...selector });
  return { items: list.items, resourceVersion: list.metadata.resourceVersion };
}

interface ShowOptions {
  readonly format: OutputFormat;
  readonly names: readonly string[];
  readonly options: GetOptions;
}

function show(cli: Cli, resource: Resource, items: readonly KubeObject[], how: ShowOptions): string {
  return formatResult(resource, items, {
    format: how.format,
    single: how.names.length === 1,
    now: cli.clock.now(),
    namespaces: how.options.allNamespaces === true,
  });
}

/** Each change as a row of its own. Ctrl-C ends it. */
async function watch(
  cli: Cli,
  client: Client,
  resource: Resource,
  how: ShowOptions & { resourceVersion: string | undefined },
): Promise<void> {
  const { namespace, allNamespaces, selector } = how.options;
  const batches = await client.watch(resource, {
    signal: cli.interrupted,
    ...(allNamespaces ? {} : { namespace }),
    ...(selector === undefined ? {} : { labelSelector: selector }),
    ...(how.resourceVersion === undefined ? {} : { resourceVersion: how.resourceVersion }),
  });
  try {
    for await (const events of batches) {
      for (const event of events) {
        if (event.type === 'BOOKMARK' || event.type === 'ERROR') continue;
        const { object } = event;
        const wanted = how.names.length === 0 || how.names.includes(object.metadata.name);
        if (!wanted) continue;
        const text = show(cli, resource, [object], { ...how, names: ['one'] });
        const tables = how.format === 'table' || how.format === 'wide';
        cli.terminal.print(tables ? (text.split('\n')[1] ?? '') : text);
      }
    }
  } catch (error) {
    if (!cli.interrupted.aborted) throw error;
  }
}
