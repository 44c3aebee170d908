import { createLineDecoder } from '#kit/line-decoder.ts';
import type { Client } from '#kube/client.ts';
import { ApiError } from '#kube/errors.ts';
import { objectPath, withQuery } from '#kube/resource-path.ts';
import { type ContainerStatus, type Pod, podResource } from './objects.ts';

/** One container of one pod. */
export interface LogSource {
  readonly pod: string;
  readonly namespace: string;
  readonly container: string;
  /** Of the pod, so that one that was made again under its name counts as another. */
  readonly uid: string;
  readonly restarts: number;
  readonly running: boolean;
}

export interface LogLine {
  readonly source: LogSource;
  /** RFC 3339 with nine digits after the second: the order of texts is that of times. */
  readonly time: string;
  readonly text: string;
}

export interface LogQuery {
  readonly tail: number;
  readonly previous: boolean;
}

const maxLineBytes = 1_048_576;

/** Every container that has begun: init containers, the agent-server beside them, the agent's own. */
export function sourcesOf(pod: Pod): LogSource[] {
  const { name, namespace = '', uid = '' } = pod.metadata;
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  return [...initContainerStatuses, ...containerStatuses].filter(hasBegun).map((status) => ({
    pod: name,
    namespace,
    uid,
    container: status.name,
    restarts: status.restartCount ?? 0,
    running: status.state?.running !== undefined,
  }));
}

function hasBegun({ state, restartCount = 0 }: ContainerStatus): boolean {
  return state?.running !== undefined || state?.terminated !== undefined || restartCount > 0;
}

/** The end of its log, at least its last line. Nothing when the kubelet has none (any more). */
export async function readEnd(
  client: Pick<Client, 'getText'>,
  source: LogSource,
  { tail, previous }: LogQuery,
): Promise<LogLine[]> {
  const path = logPath(source, { tailLines: Math.max(tail, 1), ...(previous && { previous: true }) });
  const text = await client.getText(path).catch((error: unknown) => {
    if (isAway(error)) return '';
    throw error;
  });
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => parseLine(source, line));
}

/** What it writes from now on, after the line of that time. Ends with the container's end. */
export async function* followLog(
  client: Pick<Client, 'readText'>,
  source: LogSource,
  { after, signal }: { after: string; signal: AbortSignal },
): AsyncGenerator<LogLine> {
  const path = logPath(source, { follow: true, ...(after !== '' && { sinceTime: after }) });
  const decoder = createLineDecoder(maxLineBytes);
  const pieces = await client.readText(path, { signal });
  for await (const piece of pieces) {
    for (const text of decoder.push(piece)) {
      const line = parseLine(source, text);
      // `sinceTime` counts whole seconds.
      if (line.time > after) yield line;
    }
  }
}

/** No log yet, or no longer: the container waits, or the pod is gone. */
export function isAway(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 404 || error.status === 400);
}

function logPath(source: LogSource, query: Record<string, string | number | boolean>): string {
  const path = objectPath(podResource, source.namespace, source.pod, 'log');
  return withQuery(path, { container: source.container, timestamps: true, ...query });
}

function parseLine(source: LogSource, line: string): LogLine {
  const space = line.indexOf(' ');
  const hasTime = space > 0 && /^\d{4}-\d\d-\d\dT/.test(line);
  return hasTime
    ? { source, time: line.slice(0, space), text: line.slice(space + 1) }
    : { source, time: '', text: line };
}
