import { blobIn } from '#wire/blobs.ts';
import type { Source } from '../source.ts';
import type { TaskService } from '../tasks/service.ts';
import type { Blobs } from './service.ts';
import { untilAborted } from './until-aborted.ts';

interface Calls<Tasks> {
  readonly source: Source;
  readonly tasks: Tasks;
}

/** The same calls; blobs of a store elsewhere that their arguments name are files of the workspace when they begin. */
export function bringNamed<Tasks extends TaskService>(
  { source, tasks }: Calls<Tasks>,
  { store, shared }: Blobs,
  agent: string,
): Calls<Tasks> {
  if (!shared) return { source, tasks };
  const bring = async (given: unknown, signal?: AbortSignal) => {
    for (const id of namedIn(given, agent)) {
      const brought = store.bring(id);
      await (signal === undefined ? brought : untilAborted(brought, signal));
    }
  };
  const request: Source['request'] = async (method, params, call) => {
    if (method === 'tools/call') await bring(params['arguments'], call.signal);
    return source.request(method, params, call);
  };
  const submit: TaskService['submit'] = async (order) => {
    await bring(order);
    return tasks.submit(order);
  };
  return {
    source: Object.create(source, { request: { value: request } }) as Source,
    tasks: Object.assign(Object.create(tasks) as Tasks, { submit }),
  };
}

const mostNamed = 100;

/** In texts that are nothing but a path or URI of a blob, or have it between others. */
function namedIn(given: unknown, agent: string): Set<string> {
  const text = JSON.stringify(given) ?? '';
  const ids = new Set<string>();
  if (!text.includes('blobs/')) return ids;
  for (const [found] of text.matchAll(/(?:ploinky:\/\/[a-z0-9-]+\/)?blobs\/[0-9a-f]{48}(?![0-9a-f])/g)) {
    const named = blobIn(found);
    if (named !== undefined && (named.agent ?? agent) === agent && ids.size < mostNamed) ids.add(named.id);
  }
  return ids;
}
