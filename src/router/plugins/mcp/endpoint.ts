import type { ServerResponse } from 'node:http';
import { headerOf } from '#mcp/headers.ts';
import { identifyCaller } from '../../delegation.ts';
import { endWhenOut } from '../../end-when-out.ts';
import type { Exchange, McpEndpoint } from '../../front.ts';
import { sessionStreamCall } from '../../mcp/agent-call.ts';
import { writeJson } from '../../mcp/answer.ts';
import { createEventStreams, tooManyStreams } from '../../mcp/event-streams.ts';
import { requireSession } from '../../mcp/inbound.ts';
import type { Services } from '../../services.ts';
import { endSession } from './end-session.ts';
import { createInFlight } from './in-flight.ts';
import { answerPost, currentSurface } from './post.ts';
import { resumeCall } from './resume.ts';
import { scopeOf } from './scope.ts';

/** `/mcp` and the MCP surfaces of Routes: several agents as one MCP server. */
export function aggregateEndpoint(services: Services): McpEndpoint<'mcp'> & { close(): void } {
  const streams = createEventStreams(services);
  const inFlight = createInFlight(services);
  const resumed = new Set<ServerResponse>();
  services.onDrain(() => {
    streams.close();
    for (const stream of resumed) stream.end();
  });
  return {
    post: (exchange, text) =>
      answerPost({ services, streams, inFlight, surface: exchange.resolution.surface }, exchange, text),
    get({ request, response, resolution }) {
      const wantsEvents = request.headers.accept?.includes('text/event-stream') ?? false;
      if (!wantsEvents || request.headers['mcp-session-id'] === undefined) {
        writeJson(response, 405, { error: 'event_stream_not_supported' }, { allow: 'POST, DELETE' });
        return;
      }
      const caller = identifyCaller(request, services);
      const surface = services.grants.narrow(resolution.surface, caller);
      const session = requireSession(services, request.headers, scopeOf(surface), caller);
      const callOf = (agent: string, lastEventId?: string) =>
        sessionStreamCall(`${surface.namespace}/${agent}`, session, caller, request.headers, lastEventId);
      const lastEventId = headerOf(request.headers, 'last-event-id');
      if (lastEventId !== undefined) {
        if (resumed.size >= services.limits.eventStreams) throw tooManyStreams();
        resumed.add(response);
        response.once('close', () => resumed.delete(response));
        endWhenOut(services, request, response);
        return resumeCall({ services, surface, response, callOf }, lastEventId);
      }
      streams.openSession(currentSurface({ services, surface }, caller), callOf, response);
      endWhenOut(services, request, response, () => streams.end(response));
    },
    delete: (exchange) => endThis(services, exchange),
    close: () => streams.close(),
  };
}

async function endThis(services: Services, exchange: Exchange<'mcp'>): Promise<void> {
  const { request, response, resolution } = exchange;
  const { surface } = resolution;
  if (request.headers['mcp-session-id'] !== undefined) {
    const caller = identifyCaller(request, services);
    const session = requireSession(services, request.headers, scopeOf(surface), caller);
    await endSession(services, surface, session, caller);
  }
  response.writeHead(204).end();
}
