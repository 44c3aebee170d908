import type { IncomingHttpHeaders } from 'node:http';
import { encodeHeaderValue, nameHeaderOf } from '#mcp/headers.ts';
import type { JsonRpcMessage, JsonRpcRequest, Params } from '#mcp/jsonrpc.ts';
import { bindMessage } from '#wire/binding.ts';
import { mcpRequestHeaders } from '../upstream/headers.ts';
import type { AgentCall } from '../upstream/send.ts';
import { type Speaker, wireContext } from './inbound.ts';

/** A POST of one message to an agent. `text` saves serialising a message that goes on as it came. */
export function callWith(
  agent: string,
  message: JsonRpcMessage,
  options: {
    readonly speaker: Speaker;
    readonly headers: IncomingHttpHeaders;
    readonly text?: string | undefined;
  },
): AgentCall {
  const { speaker, text } = options;
  return {
    agent,
    method: 'POST',
    path: '/mcp',
    headers: { ...mcpRequestHeaders(options.headers), 'content-type': 'application/json' },
    body: text ?? JSON.stringify(message),
    binding: bindMessage(message),
    caller: speaker.caller,
    mcp: wireContext(speaker),
  };
}

/** The message with other params, and the headers that mirror them. */
export function withParams(
  message: JsonRpcRequest,
  params: Params,
  headers: IncomingHttpHeaders,
): { message: JsonRpcRequest; headers: IncomingHttpHeaders } {
  const changed = { ...message, params };
  const name = nameHeaderOf(changed);
  const mirrored = headers['mcp-name'] !== undefined && name !== undefined;
  return {
    message: changed,
    headers: mirrored ? { ...headers, 'mcp-name': encodeHeaderValue(name) } : headers,
  };
}
