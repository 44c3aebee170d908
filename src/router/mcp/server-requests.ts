import { isObject } from '#kit/json.ts';
import { isRequest, isRequestId, type RequestId } from '#mcp/jsonrpc.ts';
import { createSseDecoder, encodeMessage } from '#mcp/sse.ts';
import type { AnswerHeaders } from '../upstream/send.ts';

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

/**
 * Rewrites the ids of an agent's requests in the event stream of a call. Event ids are dropped: a stream that
 * broke is resumed at an agent's own endpoint only. Answers in plain JSON pass untouched.
 */
export function renameServerRequests(
  agent: string,
): (headers: AnswerHeaders) => ((chunk: Buffer) => string) | undefined {
  return (headers) => {
    if (!String(headers['content-type'] ?? '').startsWith('text/event-stream')) return undefined;
    const decoder = createSseDecoder();
    return (chunk) => {
      const events = decoder.push(chunk);
      if (events.length === 0) return ': \n\n';
      return events.map((event) => (event.data === '' ? ': \n\n' : rename(agent, event.data))).join('');
    };
  };
}

function rename(agent: string, data: string): string {
  let message: unknown;
  try {
    message = JSON.parse(data);
  } catch {
    return '';
  }
  if (isRequest(message)) return encodeMessage({ ...message, id: exposeRequestId(agent, message.id) });
  if (isObject(message) && message['method'] === 'notifications/cancelled') {
    return encodeMessage(renameCancelled(agent, message));
  }
  return `event: message\ndata: ${data.replaceAll('\n', '\ndata: ')}\n\n`;
}

function renameCancelled(agent: string, message: Record<string, unknown>): unknown {
  const params = isObject(message['params']) ? message['params'] : {};
  const id = params['requestId'];
  return isRequestId(id)
    ? { ...message, params: { ...params, requestId: exposeRequestId(agent, id) } }
    : message;
}
