import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import { declaresTasks, firstTasksRevision, missingTasks } from '#mcp/tasks/capabilities.ts';
import { qualifyTaskId, readQualifiedTaskId } from '#mcp/tasks/ids.ts';
import type { RenameTask } from '#mcp/tasks/rename.ts';
import { hasName } from '#routing/sorted-names.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { Services } from '../services.ts';
import { exposeFor } from './answer-uris.ts';
import type { Speaker } from './inbound.ts';
import { type AggregateRequest, type Outcome, relayTo } from './outcome.ts';

/**
 * A request about a task, for the agent that its id names: the id is that of the agent-server, which says whose the
 * task is and at which instance, with the agent's name in front. Rejects with RpcError: `methodNotFound` when no agent
 * has tasks, `missingCapability`, and then `invalidParams` for an id of no agent here.
 */
export async function aboutTask(services: Services, request: AggregateRequest): Promise<Outcome> {
  const { surface, speaker, message } = request;
  const { tasks } = await services.abouts.of(surface);
  if (tasks.length === 0 || !mayHaveTasks(speaker))
    throw new RpcError(errorCodes.methodNotFound, `Method not found: ${message.method}`);
  refuseWithoutTasks(speaker);
  const params = message.params ?? {};
  const client = String(params['taskId']);
  const task = ownTask(surface, params['taskId']);
  if (task === undefined)
    throw new RpcError(errorCodes.invalidParams, 'Invalid params: there is no such task');
  const { agent, id } = task;
  const expose = await exposeFor(services, surface, agent);
  const rename = (own: string) => (own === id ? client : qualifyTaskId(agent, own));
  return relayTo(request, agent, { ...params, taskId: id }, expose, rename);
}

/** How the client of a tool call is told of a task that it becomes; undefined when it takes none. */
export function tasksOfCall(speaker: Speaker, params: Params, agent: string): RenameTask | undefined {
  const takes =
    speaker.era === 'stateless' ? declaresTasks(speaker.context.capabilities) : params['task'] !== undefined;
  return takes ? (id) => qualifyTaskId(agent, id) : undefined;
}

/** Throws RpcError `missingCapability` for a client of 2026-07-28 that takes no tasks. */
export function refuseWithoutTasks(speaker: Speaker): void {
  if (speaker.era === 'stateless' && !declaresTasks(speaker.context.capabilities)) throw missingTasks();
}

/** The agent of a task, and the id there; undefined for an id of no agent here. */
export function ownTask(
  surface: McpSurface,
  taskId: unknown,
): { readonly agent: string; readonly id: string } | undefined {
  const named = readQualifiedTaskId(taskId);
  return named !== undefined && hasName(surface.agents, named.agent) ? named : undefined;
}

/** What clients of 2025-11-25 are told that can be done with tasks behind several agents. */
export const aggregateSessionTasks = { cancel: {}, requests: { tools: { call: {} } } };

/** Revisions before 2025-11-25 know no tasks. */
function mayHaveTasks(speaker: Speaker): boolean {
  return (
    speaker.era === 'stateless' || (speaker.session?.revision ?? firstTasksRevision) >= firstTasksRevision
  );
}
