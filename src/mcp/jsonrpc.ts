import { isObject } from '#kit/json.ts';

/** JSON-RPC 2.0 as MCP uses it: ids are strings or integers, never null; params are objects. */
export type RequestId = string | number;
export type Params = Record<string, unknown>;

export interface JsonRpcRequest {
  jsonrpc: '2.0';
  id: RequestId;
  method: string;
  params?: Params;
}
export interface JsonRpcNotification {
  jsonrpc: '2.0';
  method: string;
  params?: Params;
}
export interface JsonRpcResult {
  jsonrpc: '2.0';
  id: RequestId;
  result: Record<string, unknown>;
}
/** What goes over the wire; a local error is a CodedError. */
export interface JsonRpcErrorObject {
  code: number;
  message: string;
  data?: unknown;
}
export interface JsonRpcFailure {
  jsonrpc: '2.0';
  /** null only when the request's id could not be read. */
  id: RequestId | null;
  error: JsonRpcErrorObject;
}
export type JsonRpcResponse = JsonRpcResult | JsonRpcFailure;
export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResponse;

/** Codes of JSON-RPC 2.0 and of MCP. The last three are of revision 2026-07-28 and go with HTTP 400. */
export const errorCodes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Implementation defined; Ploinky's "Missing session" and "still starting". */
  server: -32000,
  sessionNotFound: -32001,
  /** Resource not found before 2026-07-28, which uses invalidParams. */
  resourceNotFound: -32002,
  urlElicitationRequired: -32042,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** An error that is meant for the peer: thrown inside, sent as a JSON-RPC error. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }
}

export function isRequest(message: unknown): message is JsonRpcRequest {
  return isEnvelope(message) && typeof message['method'] === 'string' && isRequestId(message['id']);
}

export function isNotification(message: unknown): message is JsonRpcNotification {
  return isEnvelope(message) && typeof message['method'] === 'string' && !('id' in message);
}

export function isResult(message: unknown): message is JsonRpcResult {
  return isEnvelope(message) && isRequestId(message['id']) && isObject(message['result']);
}

export function isFailure(message: unknown): message is JsonRpcFailure {
  if (!isEnvelope(message) || !isObject(message['error'])) return false;
  const { code, message: text } = message['error'];
  return typeof code === 'number' && typeof text === 'string';
}

export function isResponse(message: unknown): message is JsonRpcResponse {
  return isResult(message) || isFailure(message);
}

/** Strings, and numbers that JSON carries exactly. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || (typeof value === 'number' && Number.isSafeInteger(value));
}

export function resultOf(id: RequestId, result: Record<string, unknown>): JsonRpcResult {
  return { jsonrpc: '2.0', id, result };
}

export function failureOf(
  id: RequestId | null,
  code: number,
  message: string,
  data?: unknown,
): JsonRpcFailure {
  return { jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } };
}

/** Any thrown thing as a JSON-RPC error; what is not an RpcError becomes `internal` with its message. */
export function failureFrom(id: RequestId | null, error: unknown): JsonRpcFailure {
  if (error instanceof RpcError) return failureOf(id, error.code, error.message, error.data);
  return failureOf(id, errorCodes.internal, error instanceof Error ? error.message : String(error));
}

export function notificationOf(method: string, params?: Params): JsonRpcNotification {
  return params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params };
}

/** The id to answer an unusable request with: its own when it can be read, else null. */
export function readableId(body: unknown): RequestId | null {
  return isObject(body) && typeof body['method'] === 'string' && isRequestId(body['id']) ? body['id'] : null;
}

function isEnvelope(message: unknown): message is Record<string, unknown> {
  if (!isObject(message) || message['jsonrpc'] !== '2.0') return false;
  return message['params'] === undefined || isObject(message['params']);
}
