import { isObject } from '#kit/json.ts';
import { eraOf, metaKeys } from '#mcp/eras.ts';
import {
  failureOf,
  isNotification,
  isRequest,
  isResponse,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type RequestId,
} from '#mcp/jsonrpc.ts';

/** A message of the client with its bytes, which are what is sent. */
export type Outgoing =
  | { readonly kind: 'request'; readonly message: JsonRpcRequest; readonly body: string }
  | { readonly kind: 'notification'; readonly message: JsonRpcNotification; readonly body: string }
  | { readonly kind: 'response'; readonly body: string }
  | { readonly kind: 'unusable'; readonly why: string };

export function readOutgoing(body: string): Outgoing {
  let message: unknown;
  try {
    message = JSON.parse(body);
  } catch (error) {
    return {
      kind: 'unusable',
      why: `Parse error: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
  if (isRequest(message)) return { kind: 'request', message, body };
  if (isNotification(message)) return { kind: 'notification', message, body };
  if (isResponse(message)) return { kind: 'response', body };
  const why = Array.isArray(message) ? 'batches are not taken' : 'this is no JSON-RPC 2.0 message of MCP';
  return { kind: 'unusable', why: `Invalid Request: ${why}` };
}

/** The revision that a message of the stateless era names in `_meta`; undefined for the era of sessions. */
export function statelessRevisionOf(message: JsonRpcRequest | JsonRpcNotification): string | undefined {
  const meta = message.params?.['_meta'];
  const revision = isObject(meta) ? meta[metaKeys.protocolVersion] : undefined;
  return typeof revision === 'string' && eraOf(revision) === 'stateless' ? revision : undefined;
}

/** An id as the key of a map: the number 1 and the text "1" are two. */
export function keyOf(id: unknown): string {
  return JSON.stringify(id) ?? '';
}

/** A message of the server: as it is when it fits in a line, else written anew. Undefined: it is none. */
export function readIncoming(data: string): { message: Record<string, unknown>; line: string } | undefined {
  try {
    const message: unknown = JSON.parse(data);
    if (!isObject(message)) return undefined;
    return { message, line: /[\r\n]/.test(data) ? JSON.stringify(message) : data };
  } catch {
    return undefined;
  }
}

export function errorLine(id: RequestId | null, code: number, message: string): string {
  return JSON.stringify(failureOf(id, code, message));
}
