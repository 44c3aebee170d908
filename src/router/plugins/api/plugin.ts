import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bindHttpService } from '#wire/binding.ts';
import { identifyCaller } from '../../delegation.ts';
import { writeJson } from '../../mcp/answer.ts';
import { internalPaths } from '../../paths.ts';
import { answerWith } from '../../reply.ts';
import { factsOf } from '../../request.ts';
import { hasDotSegment } from '../../safe-path.ts';
import type { Services } from '../../services.ts';
import { answerHeaders, apiRequestHeaders } from '../../upstream/headers.ts';
import { relay } from '../../upstream/relay.ts';
import { gatewayStatus } from '../gateway-status.ts';

/** `/apis/<agent>/<rest>` → `/api/<rest>` of the agent's own HTTP server; both bodies are streamed. */
export async function apiPlugin(app: FastifyInstance, { services }: { services: Services }): Promise<void> {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_, payload, done) => done(null, payload));
  app.all(internalPaths.api, async (request, reply) =>
    answerWith(services, request, reply, () => forward(services, request, reply)),
  );
}

function forward(services: Services, request: FastifyRequest, reply: FastifyReply): void {
  const { resolution, search } = factsOf(request.raw);
  if (resolution.kind !== 'api') throw new Error('no API');
  if (hasDotSegment(resolution.rest)) {
    writeJson(reply.raw, 400, {
      error: 'the path has "." or ".." segments or characters that paths may not have',
    });
    return;
  }
  const { target, rest } = resolution;
  const path = `/api${rest}`;
  const call = {
    agent: `${target.namespace}/${target.name}`,
    method: request.method,
    path: `${path}${search}`,
    headers: apiRequestHeaders(request.headers),
    body: bodyOf(request.raw),
    binding: bindHttpService(request.method, path, search),
    caller: identifyCaller(request.raw, services),
  };
  relay(services.sender, call, reply.raw, {
    headers: (headers) => ({ 'x-content-type-options': 'nosniff', ...answerHeaders(headers) }),
    fail: (error) => writeJson(reply.raw, gatewayStatus(error), { error: error.message }),
  });
}

function bodyOf(request: IncomingMessage): IncomingMessage | undefined {
  const length = request.headers['content-length'];
  const sent = request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
  return sent ? request : undefined;
}
