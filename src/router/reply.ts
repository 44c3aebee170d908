import type { ServerResponse } from 'node:http';
import { type RequestId, RpcError, readableId } from '#mcp/jsonrpc.ts';
import { parseJson, UnreadableBody } from '#mcp/parse.ts';
import { isRejection } from './delegation.ts';
import { RouterError } from './errors.ts';
import { statusOf, toFailure, writeJson } from './mcp/answer.ts';
import type { Services } from './services.ts';

/** Turns what an endpoint threw into a JSON-RPC error, with the id of the request where `text`, its body, has one. */
export function answerError(
  { log }: Pick<Services, 'log'>,
  response: ServerResponse,
  text: string | undefined,
  error: unknown,
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // What could not be parsed once is not tried again: it may be millions of characters.
  const id = error instanceof UnreadableBody ? null : idOf(text);
  if (error instanceof RpcError) writeJson(response, statusOf(error), toFailure(id, error));
  else if (isRejection(error)) {
    writeJson(response, 401, { error: 'invocation_rejected', reason: error.reason });
  } else if (error instanceof RouterError) writeJson(response, 503, toFailure(id, error));
  else {
    log.error('a request failed', { error });
    writeJson(response, 500, toFailure(id, error));
  }
}

/** Null for what is no single request, or no JSON. */
function idOf(text: string | undefined): RequestId | null {
  if (text === undefined) return null;
  try {
    return readableId(parseJson(text));
  } catch {
    return null;
  }
}
