import type { ServerResponse } from 'node:http';
import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import { qualifyTaskId } from '#mcp/tasks/ids.ts';
import type { McpSurface } from '#routing/surface.ts';
import { toFailure, writeJson } from '../../mcp/answer.ts';
import { changeAnswer } from '../../mcp/answer-transform.ts';
import { exposeFor } from '../../mcp/answer-uris.ts';
import { type AgentEvent, readEventId } from '../../mcp/event-ids.ts';
import { mcpAnswers } from '../../mcp/fit-answer.ts';
import type { Services } from '../../services.ts';
import { relay } from '../../upstream/relay.ts';
import type { AgentCall } from '../../upstream/send.ts';

export interface Resuming {
  readonly services: Services;
  readonly surface: McpSurface;
  readonly response: ServerResponse;
  /** GET of a stream of the session at an agent, after the event with this id of the agent's own. */
  readonly callOf: (agent: string, lastEventId: string) => AgentCall;
}

/**
 * GET with Last-Event-ID at an aggregate: the rest of a call's stream, from the agent that runs it, whichever router
 * sent it there. Streams of the router's own have no ids. Throws RpcError for an id that leads nowhere.
 */
export function resumeCall(resuming: Resuming, lastEventId: string): void | Promise<void> {
  const { services, surface } = resuming;
  const event = readEventId(lastEventId);
  if (event === undefined || !surface.agents.includes(event.agent)) {
    throw new RpcError(errorCodes.server, 'Bad Request: Last-Event-ID is not of a stream of this session');
  }
  const expose = exposeFor(services, surface, event.agent);
  if (!(expose instanceof Promise)) return relayRest(resuming, event, expose);
  return expose.then((known) => relayRest(resuming, event, known));
}

function relayRest(
  { services, response, callOf }: Resuming,
  { agent, method, id }: AgentEvent,
  expose: Awaited<ReturnType<typeof exposeFor>>,
): void {
  const { answerBytes, answerDepth, eventChars, agentStreamSilenceMs } = services.limits;
  const call = callOf(agent, id);
  relay(services, { ...call, silenceMs: agentStreamSilenceMs }, response, {
    ...mcpAnswers,
    fail: (error) => writeJson(response, 503, toFailure(null, error), { 'retry-after': '1' }),
    transform: changeAnswer({
      ...{ agent, method, expose, id: null },
      renameTask: (own) => qualifyTaskId(agent, own),
      asks: { keys: services.keys, session: call.mcp?.session ?? '' },
      maxBytes: answerBytes,
      maxDepth: answerDepth,
      maxEventChars: eventChars,
    }),
  });
}
