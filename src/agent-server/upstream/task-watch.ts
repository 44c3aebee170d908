import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import type { JsonRpcNotification, Params } from '#mcp/jsonrpc.ts';
import type { CallContext } from '../source.ts';
import type { UpstreamConnection } from './connection.ts';
import { servedEra } from './handshake.ts';

export interface TaskWatch {
  /** Those that the server tells of, as the client calls them. */
  readonly ids: readonly string[];
  end(): void;
}

export interface TaskWatchOptions {
  readonly clock: Clock;
  readonly connection: UpstreamConnection;
  readonly context: CallContext;
  /** What the client calls a task, by the server's id. */
  readonly names: ReadonlyMap<string, string>;
  /** How a task is now, as notifications/tasks says it. */
  readonly tell: (task: Params) => void;
}

/** Milliseconds for the server's word on what it tells of. */
const ackMs = 10_000;

/** One `subscriptions/listen` for one client's tasks; it is not opened again when it breaks, since clients can ask. */
export async function watchTasks(options: TaskWatchOptions): Promise<TaskWatch> {
  const { clock, connection, context, names, tell } = options;
  const { listen, info } = connection;
  const none = { ids: [], end: () => {} };
  if (names.size === 0 || listen === undefined || servedEra(info, 'stateless') !== 'stateless') return none;
  const stop = new AbortController();
  const word = Promise.withResolvers<readonly string[]>();
  const hear = ({ method, params = {} }: JsonRpcNotification) => {
    if (method === 'notifications/subscriptions/acknowledged') word.resolve(grantedIn(params, names));
    else if (method === 'notifications/tasks') tellOf(params, names, tell);
  };
  const cancelTimer = clock.after(ackMs, () => word.resolve([]));
  const open = listen({ notifications: { taskIds: [...names.keys()] } }, context, hear, stop.signal);
  open.catch(() => undefined).finally(() => word.resolve([]));
  const ids = await word.promise;
  cancelTimer();
  const end = () => stop.abort(new Error('Nobody listens any more'));
  if (ids.length === 0) end();
  return { ids, end };
}

function grantedIn({ notifications }: Params, names: ReadonlyMap<string, string>): readonly string[] {
  const granted = isObject(notifications) ? notifications['taskIds'] : undefined;
  if (!Array.isArray(granted)) return [];
  return granted.flatMap((id) => names.get(String(id)) ?? []);
}

function tellOf(params: Params, names: ReadonlyMap<string, string>, tell: (task: Params) => void): void {
  const taskId = names.get(String(params['taskId']));
  const { _meta, ...task } = params;
  if (taskId !== undefined) tell({ ...task, taskId });
}
