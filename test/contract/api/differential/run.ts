import type { Answered, Client, WatchEvent } from '../client.ts';
import { widget } from '../fixtures/widget.ts';
import { Memory } from './memory.ts';
import type { Request } from './request.ts';

export interface RawAnswer {
  readonly status: number;
  readonly warnings: string;
  readonly body: Answered;
}

/** What one server made of one sequence. */
export interface Outcome {
  readonly namespace: string;
  /** One a request, then a list of each collection that was touched. */
  readonly answers: readonly RawAnswer[];
  /** What a watch from before the sequence to its end shows, by collection. */
  readonly events: Readonly<Record<string, readonly WatchEvent[]>>;
}

const versions: Readonly<Record<string, string>> = {
  widgets: '/apis/contract.ploinky.dev/v1',
  agents: '/apis/ploinky.dev/v1alpha1',
  routes: '/apis/ploinky.dev/v1alpha1',
  tasks: '/apis/ploinky.dev/v1alpha1',
  leases: '/apis/coordination.k8s.io/v1',
  secrets: '/api/v1',
  configmaps: '/api/v1',
};

/** An object whose creation ends a watch. */
const last: Readonly<Record<string, unknown>> = {
  widgets: widget('zz-end'),
  agents: { ...ours('Agent'), spec: { command: ['true'] } },
  routes: { ...ours('Route'), spec: { agents: [{ name: 'a' }], mcp: {} } },
  tasks: { ...ours('Task'), spec: { agentRef: { name: 'a' }, tool: 't' } },
  leases: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'zz-end' } },
  secrets: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'zz-end' } },
  configmaps: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'zz-end' } },
};

function ours(kind: string) {
  return { apiVersion: 'ploinky.dev/v1alpha1', kind, metadata: { name: 'zz-end' } };
}

/** Collections that a sequence touches, in order of their names. */
export function collectionsOf(sequence: readonly Request[]): string[] {
  return [...new Set(sequence.map(({ path }) => path.split(/[/?]/)[0] ?? ''))].sort();
}

/** Runs a sequence in a namespace that is new. `settled` is awaited after each request. */
export async function runSequence(
  client: Client,
  namespace: string,
  sequence: readonly Request[],
  settled: (step: number) => Promise<void> = async () => undefined,
): Promise<Outcome> {
  const memory = new Memory(namespace);
  const root = (path: string) =>
    `${versions[path.split(/[/?]/)[0] ?? ''] ?? '/nowhere'}/namespaces/${namespace}/${path}`;
  const collections = collectionsOf(sequence);
  const start: Record<string, string> = {};
  for (const plural of collections)
    start[plural] = (await client.get(root(plural))).body.metadata.resourceVersion;
  const answers: RawAnswer[] = [];
  for (const [step, request] of sequence.entries()) {
    const { path, body } = memory.fill(request);
    const answer = await client.send(request.method, root(path), {
      ...(body === undefined ? {} : { body }),
      ...(request.type === undefined ? {} : { type: request.type }),
      ...(request.accept === undefined ? {} : { headers: { accept: request.accept } }),
    });
    memory.note(request, answer.status, answer.body);
    answers.push({
      status: answer.status,
      warnings: String(answer.headers['warning'] ?? ''),
      body: answer.body ?? answer.text,
    });
    await settled(step);
  }
  const events: Record<string, readonly WatchEvent[]> = {};
  for (const plural of collections) {
    const { status, body } = await client.get(root(plural));
    answers.push({ status, warnings: '', body });
    events[plural] = await eventsSince(client, root, plural, start[plural] ?? '0');
  }
  return { namespace, answers, events };
}

async function eventsSince(client: Client, root: (path: string) => string, plural: string, version: string) {
  const made = await client.send('POST', root(plural), { body: last[plural] });
  if (made.status !== 201) throw new Error(`the last object of ${plural} is refused: ${made.text}`);
  const stream = await client.watch(root(`${plural}?watch=1&resourceVersion=${version}`));
  try {
    const events = await stream.until((seen) => seen.at(-1)?.object?.metadata?.name === 'zz-end');
    return events.slice(0, -1);
  } finally {
    stream.close();
  }
}
