import type { FastifyReply, FastifyRequest } from 'fastify';
import { type RequestId, RpcError, readableId } from '#mcp/jsonrpc.ts';
import { parseJson } from '#mcp/parse.ts';
import { isRejection } from './delegation.ts';
import { RouterError } from './errors.ts';
import { statusOf, toFailure, writeJson } from './mcp/answer.ts';

/**
 * Runs the answer of an MCP endpoint, which writes to the raw response itself (answers are streamed), and
 * turns what it throws into a JSON-RPC error, with the id of the request where it has one.
 */
export async function answerWith(
  request: FastifyRequest,
  reply: FastifyReply,
  work: () => Promise<void> | void,
): Promise<void> {
  reply.hijack();
  try {
    await work();
  } catch (error) {
    const id = idOf(request.body);
    if (reply.raw.headersSent) reply.raw.destroy();
    else if (error instanceof RpcError) writeJson(reply.raw, statusOf(error), toFailure(id, error));
    else if (isRejection(error)) {
      writeJson(reply.raw, 401, { error: 'invocation_rejected', reason: error.reason });
    } else if (error instanceof RouterError) writeJson(reply.raw, 503, toFailure(id, error));
    else {
      request.log.error(error, 'a request failed');
      writeJson(reply.raw, 500, toFailure(id, error));
    }
  }
}

/** Null for what is no single request, or no JSON. */
function idOf(body: unknown): RequestId | null {
  if (typeof body !== 'string') return null;
  try {
    return readableId(parseJson(body));
  } catch {
    return null;
  }
}
