import { isObject } from '#kit/json.ts';
import { isRequest, isRequestId, type RequestId } from '#mcp/jsonrpc.ts';

/**
 * Behind an aggregate several agents ask one client, each counting its requests by itself. The id that the
 * client sees names the agent, so that any router knows where the answer goes; agent names have no "/".
 */
export function exposeRequestId(agent: string, id: RequestId): string {
  return `${agent}/${JSON.stringify(id)}`;
}

/** The agent and its own id, or undefined when the id was not made here. */
export function readRequestId(id: unknown): { readonly agent: string; readonly id: RequestId } | undefined {
  if (typeof id !== 'string') return undefined;
  const slash = id.indexOf('/');
  if (slash <= 0) return undefined;
  try {
    const own: unknown = JSON.parse(id.slice(slash + 1));
    return isRequestId(own) ? { agent: id.slice(0, slash), id: own } : undefined;
  } catch {
    return undefined;
  }
}

/** An agent's message with the id that clients see, when it asks something or takes that back; else the same. */
export function renameServerRequest(
  agent: string,
  message: Record<string, unknown>,
): Record<string, unknown> {
  if (isRequest(message)) return { ...message, id: exposeRequestId(agent, message.id) };
  return message['method'] === 'notifications/cancelled' ? renameCancelled(agent, message) : message;
}

function renameCancelled(agent: string, message: Record<string, unknown>): Record<string, unknown> {
  const params = isObject(message['params']) ? message['params'] : {};
  const id = params['requestId'];
  return isRequestId(id)
    ? { ...message, params: { ...params, requestId: exposeRequestId(agent, id) } }
    : message;
}
