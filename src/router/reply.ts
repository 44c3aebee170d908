import type { FastifyReply, FastifyRequest } from 'fastify';
import { RpcError } from '#mcp/jsonrpc.ts';
import { isRejection } from './delegation.ts';
import { RouterError } from './errors.ts';
import { statusOf, toFailure, writeJson } from './mcp/answer.ts';

/**
 * Runs the answer of an MCP endpoint, which writes to the raw response itself (answers are streamed), and
 * turns what it throws into a JSON-RPC error without an id.
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
    if (reply.raw.headersSent) reply.raw.destroy();
    else if (error instanceof RpcError) writeJson(reply.raw, statusOf(error), toFailure(null, error));
    else if (isRejection(error)) {
      writeJson(reply.raw, 401, { error: 'invocation_rejected', reason: error.reason });
    } else if (error instanceof RouterError) writeJson(reply.raw, 503, toFailure(null, error));
    else {
      request.log.error(error, 'a request failed');
      writeJson(reply.raw, 500, toFailure(null, error));
    }
  }
}
