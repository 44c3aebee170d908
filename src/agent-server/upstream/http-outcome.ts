import { errorCodes, isFailure, isResult, type RequestId, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { AgentServerError } from '../errors.ts';

/** The server answered 404 to a session that it gave; nothing was run. */
export class SessionForgotten extends AgentServerError {
  constructor() {
    super('UpstreamInvalid', "The agent's MCP server has forgotten its session");
  }
}

/** Servers answer 404, as the specification says, or 400 as examples of the official SDK do. */
export function isForgotten(status: number, outcome: unknown): boolean {
  if (status !== 400 || !(outcome instanceof RpcError)) return status === 404;
  return outcome.code === errorCodes.server && /session/i.test(outcome.message);
}

export function outcomeIn(message: unknown, id: RequestId): Result | RpcError | undefined {
  if (isResult(message) && message.id === id) return message.result;
  if (!isFailure(message) || (message.id !== id && message.id !== null)) return undefined;
  return new RpcError(message.error.code, message.error.message, message.error.data);
}

export function unanswered(status: number): AgentServerError {
  return new AgentServerError('UpstreamInvalid', `The agent's MCP server gave no answer (HTTP ${status})`);
}

export function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
