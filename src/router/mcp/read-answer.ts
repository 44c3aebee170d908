import { isResponse, type JsonRpcResponse, type RequestId } from '#mcp/jsonrpc.ts';
import { createSseDecoder } from '#mcp/sse.ts';
import type { Answer } from '../upstream/collect.ts';

/**
 * The JSON-RPC response with this id in a collected answer, be it JSON or an event stream.
 * Undefined when there is none. `check` sees each text before it is parsed, and may throw.
 */
export function readAnswer(
  answer: Answer,
  id: RequestId,
  check?: (text: string) => void,
): JsonRpcResponse | undefined {
  const type = String(answer.headers['content-type'] ?? '');
  const texts = type.startsWith('text/event-stream')
    ? createSseDecoder()
        .push(answer.text)
        .map((event) => event.data)
    : [answer.text];
  for (const text of texts) {
    check?.(text);
    const message = parse(text);
    if (isResponse(message) && (message.id === id || message.id === null)) return message;
  }
  return undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
