import type { ServerResponse } from 'node:http';
import { errorCodes, failureFrom, type RequestId, RpcError } from '#mcp/jsonrpc.ts';
import { InvocationRejected } from '#wire/errors.ts';
import { sendJson } from '../http/exchange.ts';

/** Ends the HTTP exchange with a JSON-RPC error. */
export function sendError(
  response: ServerResponse,
  status: number,
  error: unknown,
  options: { readonly headers?: Record<string, string>; readonly id?: RequestId | null } = {},
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const [name, value] of Object.entries(options.headers ?? {})) response.setHeader(name, value);
  sendJson(response, status, JSON.stringify(failureFrom(options.id ?? null, error)));
}

/** 404 tells a client to begin a new session, 400 that it named none, 401 that its token is no good. */
export function sendSessionError(response: ServerResponse, error: unknown): void {
  if (error instanceof InvocationRejected) {
    sendError(response, 401, new RpcError(errorCodes.invalidRequest, error.message));
  } else {
    const ended = error instanceof RpcError && error.code === errorCodes.sessionNotFound;
    sendError(response, ended ? 404 : 400, error);
  }
}
