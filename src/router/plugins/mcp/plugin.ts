import type { FastifyInstance } from 'fastify';
import type { McpSurface } from '#routing/surface.ts';
import { limitBodyTime } from '../../body-time.ts';
import { identifyCaller } from '../../delegation.ts';
import { writeJson } from '../../mcp/answer.ts';
import { createEventStreams } from '../../mcp/event-streams.ts';
import { requireSession } from '../../mcp/inbound.ts';
import { internalPaths } from '../../paths.ts';
import { answerWith } from '../../reply.ts';
import { factsOf } from '../../request.ts';
import type { Services } from '../../services.ts';
import { endSession } from './end-session.ts';
import { createInFlight } from './in-flight.ts';
import { answerPost, currentSurface } from './post.ts';
import { scopeOf } from './scope.ts';

/** `/mcp` and the MCP surfaces of Routes: several agents as one MCP server. */
export async function mcpPlugin(app: FastifyInstance, { services }: { services: Services }): Promise<void> {
  limitBodyTime(app, services);
  const streams = createEventStreams(services);
  const inFlight = createInFlight();
  services.onDrain(() => streams.close());
  app.addHook('preClose', async () => streams.close());

  app.post(internalPaths.mcp, async (request, reply) =>
    answerWith(request, reply, () => {
      const surface = surfaceOf(request.raw);
      return answerPost({ services, streams, inFlight, surface }, request, reply);
    }),
  );
  app.get(internalPaths.mcp, async (request, reply) =>
    answerWith(request, reply, async () => {
      const surface = surfaceOf(request.raw);
      const wantsEvents = request.headers.accept?.includes('text/event-stream') ?? false;
      if (!wantsEvents || request.headers['mcp-session-id'] === undefined) {
        writeJson(reply.raw, 405, { error: 'event_stream_not_supported' }, { allow: 'POST, DELETE' });
        return;
      }
      requireSession(services, request.headers, scopeOf(surface), identifyCaller(request.raw, services));
      streams.openSession(currentSurface({ services, streams, inFlight, surface }), reply.raw);
    }),
  );
  app.delete(internalPaths.mcp, async (request, reply) =>
    answerWith(request, reply, async () => {
      const surface = surfaceOf(request.raw);
      if (request.headers['mcp-session-id'] !== undefined) {
        const caller = identifyCaller(request.raw, services);
        await endSession(
          services,
          surface,
          requireSession(services, request.headers, scopeOf(surface), caller),
          caller,
        );
      }
      reply.raw.writeHead(204).end();
    }),
  );
}

function surfaceOf(request: Parameters<typeof factsOf>[0]): McpSurface {
  const { resolution } = factsOf(request);
  if (resolution.kind !== 'mcp') throw new Error('no MCP surface');
  return resolution.surface;
}
