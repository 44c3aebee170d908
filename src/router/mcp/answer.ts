import type { ServerResponse } from 'node:http';
import { messageOf } from '#kit/errors.ts';
import {
  errorCodes,
  failureFrom,
  failureOf,
  type JsonRpcFailure,
  type RequestId,
  RpcError,
} from '#mcp/jsonrpc.ts';
import { AuthRefused } from '../auth/authenticator.ts';
import { RouterError } from '../errors.ts';
import { endWith } from '../write-long.ts';
import { SessionGone } from './inbound.ts';

/** HTTP status of an error that the endpoint itself found; whatever a handler says goes with 200. */
export function statusOf(error: RpcError): number {
  if (error instanceof SessionGone) return 404;
  return statuses.get(error.code) ?? 400;
}

const statuses = new Map<number, number>([[errorCodes.methodNotFound, 404]]);

/** Any error as JSON-RPC sees it: what an agent's absence or silence means to a client. */
export function toFailure(id: RequestId | null, error: unknown): JsonRpcFailure {
  if (error instanceof RpcError) return failureFrom(id, error);
  if (error instanceof AuthRefused) {
    const { code, description, challenge } = error.details;
    return failureOf(id, errorCodes.server, description, { error: code, ...challenge });
  }
  if (!(error instanceof RouterError)) return failureOf(id, errorCodes.internal, 'Internal error');
  switch (error.code) {
    case 'Ambiguous':
    case 'NotFound':
      return failureOf(id, errorCodes.invalidParams, error.message, { agents: error.agents });
    case 'BackendsMissing':
      return failureOf(id, errorCodes.server, error.message, { agents: error.agents });
    case 'AgentUnavailable':
    case 'NoKeys':
      return failureOf(id, errorCodes.server, error.message);
    default:
      return failureOf(id, errorCodes.internal, messageOf(error));
  }
}

export function writeJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  writeJsonText(response, status, JSON.stringify(body), headers);
}

export function writeJsonText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  if (response.destroyed) return;
  const length = Buffer.byteLength(text);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers });
  // Plain ASCII, which is written without a look at each character.
  endWith(response, text, length === text.length ? 'latin1' : 'utf8');
}
