import { isObject } from '#kit/json.ts';
import type { InvocationClaims } from '#wire/claims.ts';
import type { NewTask, TaskRecord } from '../queue/queue.ts';
import type { CallContext } from '../source.ts';
import type { TaskOrder } from './service.ts';
import type { AdmittedCall } from './task-tools.ts';

/** What is kept with a task for its attempts and its face, in the words of the order. No secrets: it is on disk. */
export interface TaskPayload {
  readonly input: Record<string, unknown>;
  readonly claims: InvocationClaims | undefined;
  readonly session: string | undefined;
  readonly requestId: string | number;
  readonly capabilities: CallContext['capabilities'];
  readonly inputResponses: unknown;
  readonly requestState: unknown;
  /** uid of the instance that took the order, which its id of MCP names for good; undefined: it has none. */
  readonly instance: string | undefined;
  /** `mcp`: its client was told an id of MCP. */
  readonly told: TaskOrder['told'];
}

/** The task that the queue is given for an order. */
export function newTask(
  order: TaskOrder,
  { input, timeoutMs, retries }: AdmittedCall,
  instance: string,
): NewTask {
  const { claims, session, requestId, capabilities, inputResponses, requestState, told } = order;
  const limit = order.timeoutMs ?? timeoutMs;
  const attempts = order.retries ?? retries;
  return {
    toolName: order.tool,
    owner: order.owner,
    payload: {
      ...{ input, claims, session, requestId, capabilities, inputResponses, requestState, told },
      ...(told === 'mcp' && { instance }),
    },
    ...(order.key !== undefined && { key: order.key }),
    ...(order.priority !== undefined && { priority: order.priority }),
    ...(order.ttlMs !== undefined && { ttlMs: order.ttlMs }),
    ...(limit !== undefined && { timeoutMs: limit }),
    ...(attempts !== undefined && { retries: attempts }),
  };
}

export function payloadOf({ payload }: Pick<TaskRecord, 'payload'>): TaskPayload {
  const { input, claims, session, requestId, capabilities, inputResponses, requestState, instance, told } =
    payload;
  return {
    input: isObject(input) ? input : {},
    claims: isObject(claims) ? (claims as unknown as InvocationClaims) : undefined,
    session: typeof session === 'string' ? session : undefined,
    requestId: typeof requestId === 'number' ? requestId : String(requestId ?? ''),
    capabilities: isObject(capabilities) ? capabilities : {},
    inputResponses,
    requestState,
    instance: typeof instance === 'string' ? instance : undefined,
    told: told === 'mcp' || told === 'contract' ? told : undefined,
  };
}
