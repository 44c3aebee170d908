import { isResponse, type JsonRpcResponse, type RequestId } from '#mcp/jsonrpc.ts';
import { nestsDeeper } from '#mcp/parse.ts';
import { createSseDecoder } from '#mcp/sse.ts';
import { RouterError } from '../errors.ts';
import type { Answer } from '../upstream/collect.ts';

/** Whose words are read, and how deep they may nest. */
export interface ReadOptions {
  readonly agent: string;
  readonly maxDepth: number;
}

/**
 * The JSON-RPC response with this id in a collected answer, be it JSON or an event stream. Undefined when there is
 * none. Throws RouterError `AgentAnswer` for one that nests too deep.
 */
export function readAnswer(answer: Answer, id: RequestId, options: ReadOptions): JsonRpcResponse | undefined {
  const type = String(answer.headers['content-type'] ?? '');
  const texts = type.startsWith('text/event-stream')
    ? createSseDecoder(answer.text.length)
        .push(answer.text)
        .map((event) => event.data)
    : [answer.text];
  for (const text of texts) {
    const message = parseAgentJson(text, options);
    if (isResponse(message) && (message.id === id || message.id === null)) return message;
  }
  return undefined;
}

/** What an agent wrote as JSON; undefined when it is none. Throws RouterError `AgentAnswer` when it nests too deep. */
export function parseAgentJson(text: string, { agent, maxDepth }: ReadOptions): unknown {
  if (nestsDeeper(text, maxDepth)) {
    const message = `Agent '${agent}' answered JSON that nests deeper than ${maxDepth} levels.`;
    throw new RouterError('AgentAnswer', message, { agents: [agent] });
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
