import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Target } from '#routing/target.ts';
import { streamBinding } from '#wire/binding.ts';
import { limitBodyTime } from '../../body-time.ts';
import { identifyCaller } from '../../delegation.ts';
import { toFailure, writeJson } from '../../mcp/answer.ts';
import { requireSession } from '../../mcp/inbound.ts';
import { contextOf } from '../../mcp/sessions.ts';
import { internalPaths } from '../../paths.ts';
import { answerWith } from '../../reply.ts';
import { factsOf } from '../../request.ts';
import type { Services } from '../../services.ts';
import { answerHeaders, mcpRequestHeaders } from '../../upstream/headers.ts';
import { relay } from '../../upstream/relay.ts';
import { endHere, tellEnd } from '../mcp/end-session.ts';
import { answerAgentPost, keyOf } from './post.ts';

/** `/mcps/<agent>/mcp` and Routes with one agent: its MCP server as it is. */
export async function agentMcpPlugin(
  app: FastifyInstance,
  { services }: { services: Services },
): Promise<void> {
  limitBodyTime(app, services);
  const streams = new Set<ServerResponse>();
  services.onDrain(() => {
    for (const stream of streams) stream.end();
  });
  app.post(internalPaths['agent-mcp'], async (request, reply) =>
    answerWith(request, reply, () => answerAgentPost(services, targetOf(request.raw), request, reply)),
  );
  app.get(internalPaths['agent-mcp'], async (request, reply) =>
    answerWith(request, reply, () => {
      if (!openStream(services, request, reply)) return;
      streams.add(reply.raw);
      reply.raw.once('close', () => streams.delete(reply.raw));
    }),
  );
  app.delete(internalPaths['agent-mcp'], async (request, reply) =>
    answerWith(request, reply, async () => {
      const target = targetOf(request.raw);
      const caller = identifyCaller(request.raw, services);
      const session = requireSession(services, request.headers, target.identity.uid, caller);
      await Promise.all([
        endHere(services, session),
        tellEnd(services, keyOf(target), session, caller).catch(() => undefined),
      ]);
      reply.raw.writeHead(204).end();
    }),
  );
  app.all(internalPaths['agent-other'], async (_, reply) =>
    reply.code(404).send({ error: 'Endpoint not found. Use /mcps/<agent>/mcp for MCP access.' }),
  );
  app.all(internalPaths['unknown-agent'], async (_, reply) =>
    reply.code(404).type('text/plain').send('API Route not found'),
  );
}

/** The agent's own event stream; it decides what comes and when it ends. False when the request was refused. */
function openStream(services: Services, request: FastifyRequest, reply: FastifyReply): boolean {
  const target = targetOf(request.raw);
  const wantsEvents = request.headers.accept?.includes('text/event-stream') ?? false;
  if (!wantsEvents || request.headers['mcp-session-id'] === undefined) {
    writeJson(reply.raw, 405, { error: 'event_stream_not_supported' }, { allow: 'POST, DELETE' });
    return false;
  }
  const caller = identifyCaller(request.raw, services);
  const session = requireSession(services, request.headers, target.identity.uid, caller);
  const call = {
    agent: keyOf(target),
    method: 'GET',
    path: '/mcp',
    headers: mcpRequestHeaders(request.headers),
    binding: streamBinding,
    caller,
    mcp: contextOf(session),
    silenceMs: 0,
  };
  relay(services.sender, call, reply.raw, {
    headers: answerHeaders,
    fail: (error) => writeJson(reply.raw, 503, toFailure(null, error), { 'retry-after': '1' }),
  });
  return true;
}

function targetOf(request: IncomingMessage): Target {
  const { resolution } = factsOf(request);
  if (resolution.kind !== 'agent-mcp') throw new Error('no agent');
  return resolution.target;
}
