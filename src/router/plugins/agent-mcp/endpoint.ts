import type { ServerResponse } from 'node:http';
import { headerOf } from '#mcp/headers.ts';
import { identifyCaller } from '../../delegation.ts';
import { endWhenOut } from '../../end-when-out.ts';
import type { Exchange, McpEndpoint } from '../../front.ts';
import { sessionStreamCall } from '../../mcp/agent-call.ts';
import { toFailure, writeJson } from '../../mcp/answer.ts';
import { tooManyStreams } from '../../mcp/event-streams.ts';
import { mcpAnswers } from '../../mcp/fit-answer.ts';
import { requireSession } from '../../mcp/inbound.ts';
import type { Services } from '../../services.ts';
import { relay } from '../../upstream/relay.ts';
import { endHere, tellEnd } from '../mcp/end-session.ts';
import { createInFlight } from '../mcp/in-flight.ts';
import { answerAgentPost, keyOf } from './post.ts';

/** `/mcps/<agent>/mcp` and Routes with one agent: its MCP server as it is. */
export function agentEndpoint(services: Services): McpEndpoint<'agent-mcp'> {
  const streams = new Set<ServerResponse>();
  const inFlight = createInFlight(services);
  services.onDrain(() => {
    for (const stream of streams) stream.end();
  });
  return {
    post: (exchange, text) => answerAgentPost({ services, inFlight }, exchange, text),
    get(exchange) {
      if (!openStream(services, exchange, streams.size)) return;
      const { request, response } = exchange;
      endWhenOut(services, request, response);
      streams.add(response);
      response.once('close', () => streams.delete(response));
    },
    async delete({ request, response, resolution: { target } }) {
      const caller = identifyCaller(request, services);
      const session = requireSession(services, request.headers, target.identity.uid, caller);
      await Promise.all([
        endHere(services, session),
        tellEnd(services, keyOf(target), session, caller).catch(() => undefined),
      ]);
      response.writeHead(204).end();
    },
  };
}

/** The agent's own event stream; it decides what comes and when it ends. False when the request was refused. */
function openStream(
  services: Services,
  { request, response, resolution }: Exchange<'agent-mcp'>,
  open: number,
): boolean {
  const { target } = resolution;
  const wantsEvents = request.headers.accept?.includes('text/event-stream') ?? false;
  if (!wantsEvents || request.headers['mcp-session-id'] === undefined) {
    writeJson(response, 405, { error: 'event_stream_not_supported' }, { allow: 'POST, DELETE' });
    return false;
  }
  const caller = identifyCaller(request, services);
  const session = requireSession(services, request.headers, target.identity.uid, caller);
  if (open >= services.limits.eventStreams) throw tooManyStreams();
  const lastEventId = headerOf(request.headers, 'last-event-id');
  const call = sessionStreamCall(keyOf(target), session, caller, request.headers, lastEventId);
  relay(services, { ...call, silenceMs: services.limits.agentStreamSilenceMs }, response, {
    ...mcpAnswers,
    fail: (error) => writeJson(response, 503, toFailure(null, error), { 'retry-after': '1' }),
  });
  return true;
}
