import { isObject } from '#kit/json.ts';
import { metaKeys } from '#mcp/eras.ts';
import { notificationOf } from '#mcp/jsonrpc.ts';
import { encodeMessage } from '#mcp/sse.ts';
import { partsWithin } from '../catalog/within.ts';
import { callWith, withParams } from './agent-call.ts';
import { type SwitchedStream, switchedStream } from './agent-streams.ts';
import { exposeFor } from './answer-uris.ts';
import { deadlineOf } from './backends.ts';
import { exposeInMessage } from './expose-uris.ts';
import { createOutlet, type ResourceWatch, readNotice, type WatchOptions } from './resource-watch.ts';
import { ownTask } from './tasks.ts';

export interface TaskWatchOptions extends Omit<WatchOptions, 'uris'> {
  /** As the client calls them. */
  readonly taskIds: readonly string[];
}

/**
 * Splits the tasks of a listen request by their agents, and waits for their word until the surface's deadline. What
 * happens while an agent's stream is broken, or the agent is taken away, is not told: clients can ask.
 */
export async function watchTasks(options: TaskWatchOptions): Promise<ResourceWatch> {
  const { services, surface } = options;
  const outlet = createOutlet(services.limits.listenUris);
  const watches = [...byAgent(options)]
    .slice(0, services.limits.agentStreamsPerClient)
    .map(([agent, tasks]) => watchAgent(options, agent, tasks, outlet.write));
  const words = watches.map(({ granted }) => ({ part: granted, late: (): readonly string[] => [] }));
  const granted = (await partsWithin(words, deadlineOf(services, surface()), services.clock)).flat();
  return {
    granted,
    start: outlet.open,
    close() {
      for (const { stream } of watches) stream?.close();
    },
    sync() {
      const { agents } = surface();
      for (const { agent, stream } of watches) stream?.turn(agents.includes(agent));
    },
  };
}

/** How the client calls a task, by the agent and what it calls the task. Ids of nobody are left out. */
function byAgent({ surface, taskIds }: TaskWatchOptions): Map<string, Map<string, string>> {
  const now = surface();
  const owned = new Map<string, Map<string, string>>();
  for (const taskId of taskIds) {
    const task = ownTask(now, taskId);
    if (task === undefined) continue;
    const own = owned.get(task.agent) ?? new Map<string, string>();
    owned.set(task.agent, own.set(task.id, taskId));
  }
  return owned;
}

interface AgentWatch {
  readonly agent: string;
  readonly granted: Promise<readonly string[]>;
  /** Undefined: the agent's share of streams is used up. */
  readonly stream: SwitchedStream | undefined;
}

function watchAgent(
  { services, streams, surface, message, speaker, headers }: TaskWatchOptions,
  agent: string,
  tasks: ReadonlyMap<string, string>,
  write: (text: string) => void,
): AgentWatch {
  const notifications = { taskIds: [...tasks.keys()] };
  const sent = withParams(message, { ...message.params, notifications }, headers);
  const call = callWith(`${surface().namespace}/${agent}`, sent.message, { speaker, headers: sent.headers });
  const word = Promise.withResolvers<readonly string[]>();
  const tell = async (params: Record<string, unknown>) => {
    const taskId = tasks.get(String(params['taskId']));
    const meta = { ...(isObject(params['_meta']) && params['_meta']), [metaKeys.subscriptionId]: message.id };
    if (taskId === undefined) return;
    const told = { ...notificationOf('notifications/tasks', { ...params, taskId, _meta: meta }) };
    const expose = await exposeFor(services, surface(), agent);
    write(encodeMessage(expose === undefined ? told : exposeInMessage(told, '', expose)));
  };
  let last = Promise.resolve();
  const onEvent = (data: string) => {
    const { method, params } = readNotice(data, { agent, maxDepth: services.limits.answerDepth });
    if (method === 'notifications/tasks') last = last.then(() => tell(params)).catch(() => undefined);
    else if (method === 'notifications/subscriptions/acknowledged') word.resolve(grantedIn(params, tasks));
  };
  const onFailure = () => word.resolve([]);
  const stream = switchedStream(() => streams.keep({ call, onEvent, onFailure }));
  if (stream === undefined) word.resolve([]);
  return { agent, granted: word.promise, stream };
}

function grantedIn({ notifications }: Record<string, unknown>, tasks: ReadonlyMap<string, string>): string[] {
  const granted = isObject(notifications) ? notifications['taskIds'] : undefined;
  return Array.isArray(granted) ? granted.flatMap((id) => tasks.get(String(id)) ?? []) : [];
}
