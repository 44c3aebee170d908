import { isObject } from '#kit/json.ts';
import { isResponse, type JsonRpcMessage } from './jsonrpc.ts';

/** What an invocation token is bound to; the same shape as `CallBinding` of src/wire. */
export interface BoundCall {
  readonly tool: string;
  readonly arguments: unknown;
}

/**
 * What the token of a JSON-RPC message must be bound to (Ploinky contract, §6.1, extended to every method):
 * tools/call → the tool and its arguments; resources/read → `{uri}`; another method → its name and params;
 * a response to a server's request → `__response__` with its id and result or error.
 * Router and agent-server both call this, so they cannot disagree. `_meta` of a tool call is not bound.
 */
export function boundCallOf(message: JsonRpcMessage): BoundCall {
  if (isResponse(message)) {
    const { jsonrpc: _version, ...rest } = message;
    return { tool: '__response__', arguments: rest };
  }
  const params = message.params ?? {};
  if (message.method === 'tools/call') {
    return { tool: String(params['name']), arguments: params['arguments'] ?? {} };
  }
  if (message.method === 'resources/read')
    return { tool: 'resources/read', arguments: { uri: params['uri'] } };
  return { tool: message.method, arguments: isObject(params) ? params : {} };
}

/** What the token of a GET or DELETE on /mcp is bound to. */
export function boundSessionCall(method: 'GET' | 'DELETE'): BoundCall {
  return { tool: method === 'GET' ? '__session_stream__' : '__session_end__', arguments: {} };
}
