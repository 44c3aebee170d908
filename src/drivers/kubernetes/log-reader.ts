import { type Pod, podResource } from '#api/cluster-kinds.ts';
import { createLineDecoder } from '#kit/line-decoder.ts';
import type { Client } from '#kube/client.ts';
import { objectPath, withQuery } from '#kube/resource-path.ts';
import type { LogOptions } from '../driver.ts';

type LogClient = Pick<Client, 'readText'>;
const maxLineBytes = 1_048_576;

/**
 * Lines of every container of the pods that has begun, each pod's in the order in which they started. With `follow`
 * they come as they are written, until every container has ended or `signal` is aborted. A name in brackets tells
 * containers apart where there are several.
 */
export async function* readLogs(
  client: LogClient,
  pods: readonly Pod[],
  { tail = 200, follow = false, signal }: LogOptions,
): AsyncIterable<string> {
  const containers = pods.flatMap(containersOf);
  const stop = new AbortController();
  const onAbort = () => stop.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  const open = (container: LogPlace) => {
    const query = { container: container.name, tailLines: tail, follow };
    return linesOf(client, withQuery(container.path, query), stop.signal);
  };
  const label = containers.length > 1 ? (place: LogPlace) => `[${place.label}] ` : () => '';
  try {
    if (follow) yield* merge(containers.map((place) => prefix(label(place), open(place))));
    else for (const place of containers) yield* prefix(label(place), open(place));
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    stop.abort();
  }
}

interface LogPlace {
  readonly name: string;
  readonly label: string;
  readonly path: string;
}

function containersOf({ metadata, status = {} }: Pod): LogPlace[] {
  const path = objectPath(podResource, metadata.namespace, metadata.name, 'log');
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
    .filter(({ state, restartCount }) => state?.waiting === undefined || restartCount > 0)
    .map(({ name }) => ({ name, label: `${metadata.name} ${name}`, path }));
}

async function* linesOf(client: LogClient, path: string, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = createLineDecoder(maxLineBytes);
  for await (const piece of await client.readText(path, { signal })) yield* decoder.push(piece);
}

async function* prefix(text: string, lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${text}${line}`;
}

/** Whatever comes first, from any of them. */
async function* merge(sources: readonly AsyncGenerator<string>[]): AsyncGenerator<string> {
  const next = (source: AsyncGenerator<string>) => source.next().then((result) => ({ source, result }));
  const waiting = new Map(sources.map((source) => [source, next(source)]));
  try {
    while (waiting.size > 0) {
      const { source, result } = await Promise.race(waiting.values());
      if (result.done) waiting.delete(source);
      else {
        waiting.set(source, next(source));
        yield result.value;
      }
    }
  } finally {
    // Those that are cut off when the reader leaves have nobody left to tell.
    for (const pending of waiting.values()) pending.catch(() => undefined);
  }
}
