import type { KubeObject, Resource } from '#api/meta.ts';
import type { Cli } from './context.ts';
import { formatResult, type OutputFormat } from './output.ts';
import type { Session } from './session.ts';

/** Which objects of a kind, and in which form. */
export interface ShowRequest {
  readonly resource: Resource;
  readonly format: OutputFormat;
  /** Read one by one, each must be there. Empty: all. */
  readonly names: readonly string[];
  readonly allNamespaces: boolean;
  readonly selector?: string | undefined;
  /** Of all, those that count. */
  readonly wanted?: (object: KubeObject) => boolean;
  readonly order?: (left: KubeObject, right: KubeObject) => number;
  /** Go on with each change until Ctrl-C. */
  readonly watch: boolean;
}

/** Prints them. */
export async function showObjects(cli: Cli, session: Session, request: ShowRequest): Promise<void> {
  const { resource, format } = request;
  const { items, resourceVersion } = await read(session, request);
  const isData = format === 'json' || format === 'yaml';
  if (items.length === 0 && !isData) cli.terminal.note(`No ${resource.plural} found.`);
  else cli.terminal.print(show(cli, items, request));
  if (request.watch) await watch(cli, session, { ...request, resourceVersion });
}

async function read({ client, namespace }: Session, request: ShowRequest) {
  const { resource, names, selector, wanted = () => true, order } = request;
  if (names.length > 0) {
    const items = await Promise.all(names.map((name) => client.get(resource, { namespace, name })));
    return { items, resourceVersion: undefined };
  }
  const where = request.allNamespaces ? {} : { namespace };
  const list = await client.list(resource, { ...where, ...(selector && { labelSelector: selector }) });
  const items = list.items.filter(wanted);
  if (order !== undefined) items.sort(order);
  return { items, resourceVersion: list.metadata.resourceVersion };
}

function show(
  cli: Cli,
  items: readonly KubeObject[],
  { resource, format, names, allNamespaces }: ShowRequest,
): string {
  const single = names.length === 1;
  return formatResult(resource, items, { format, single, now: cli.clock.now(), namespaces: allNamespaces });
}

/** Each change as a row of its own. Ctrl-C ends it. */
async function watch(
  cli: Cli,
  { client, namespace }: Session,
  request: ShowRequest & { resourceVersion: string | undefined },
): Promise<void> {
  const { resource, format, names, selector, wanted = () => true, resourceVersion } = request;
  const batches = await client.watch(resource, {
    signal: cli.interrupted,
    ...(request.allNamespaces ? {} : { namespace }),
    ...(selector && { labelSelector: selector }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  });
  const tables = format === 'table' || format === 'wide';
  try {
    for await (const events of batches) {
      for (const event of events) {
        if (event.type === 'BOOKMARK' || event.type === 'ERROR') continue;
        const { object } = event;
        const named = names.length === 0 || names.includes(object.metadata.name);
        if (!named || !wanted(object)) continue;
        const text = show(cli, [object], { ...request, names: ['one'] });
        cli.terminal.print(tables ? (text.split('\n')[1] ?? '') : text);
      }
    }
  } catch (error) {
    if (!cli.interrupted.aborted) throw error;
  }
}
