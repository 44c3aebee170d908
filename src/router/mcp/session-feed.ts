import { qualifyTaskId } from '#mcp/tasks/ids.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { Services } from '../services.ts';
import type { AgentCall } from '../upstream/send.ts';
import type { AgentStreams } from './agent-streams.ts';
import { changeEvent } from './answer-transform.ts';
import { exposeFor } from './answer-uris.ts';
import { permitsUri } from './locate.ts';
import { readNotice } from './resource-watch.ts';

/** What agents add to a stream that the router itself feeds. */
export interface Feed {
  /** Opens what is missing and closes what belongs to it no more. */
  sync(): void;
  close(): void;
}

export interface SessionFeedOptions {
  readonly services: Services;
  readonly streams: AgentStreams;
  readonly surface: () => McpSurface;
  /** The session's own stream at an agent. */
  readonly callOf: (agent: string) => AgentCall;
  readonly write: (text: string) => void;
}

/**
 * A session's streams at those agents that tell changes of resources: only they have something to say outside of a
 * call. The router does not know what the session subscribed to, perhaps by another router; the agents do.
 */
export function feedSession(options: SessionFeedOptions): Feed {
  const { services, streams, surface, callOf } = options;
  const open = new Map<string, () => void>();
  let closed = false;

  async function look(): Promise<void> {
    const now = surface();
    const { subscribable } = await services.abouts.of(now);
    if (closed) return;
    for (const [agent, close] of open) {
      if (now.agents.includes(agent)) continue;
      close();
      open.delete(agent);
    }
    for (const agent of subscribable) {
      if (open.has(agent) || open.size >= services.limits.agentStreamsPerClient) continue;
      let last = Promise.resolve();
      const call = callOf(agent);
      const onEvent = (data: string) => {
        last = last.then(() => pass(options, agent, call, data)).catch(() => undefined);
      };
      const close = streams.keep({ call, onEvent });
      if (close !== undefined) open.set(agent, close);
    }
  }
  return {
    sync() {
      look().catch((error) => services.log.debug('the streams of a session were not opened', { error }));
    },
    close() {
      closed = true;
      for (const close of open.values()) close();
      open.clear();
    },
  };
}

/** In order; list changes are the router's to tell, by what its own lists show. */
async function pass(
  { services, surface, write }: SessionFeedOptions,
  agent: string,
  { mcp }: AgentCall,
  data: string,
): Promise<void> {
  const maxDepth = services.limits.answerDepth;
  const { method, params } = readNotice(data, { agent, maxDepth });
  if (typeof method === 'string' && /^notifications\/[a-z]+\/list_changed$/.test(method)) return;
  const now = surface();
  const isUpdate = method === 'notifications/resources/updated';
  // What it subscribed to, rules may have taken away since.
  if (isUpdate && !(await permitsUri(services, now, { agent, name: String(params['uri']) }))) return;
  const expose = await exposeFor(services, now, agent);
  const renameTask = (own: string) => qualifyTaskId(agent, own);
  const asks = { keys: services.keys, session: mcp?.session ?? '' };
  const text = changeEvent({ agent, method: '', asks, expose, renameTask, maxDepth }, data);
  if (text !== '') write(text);
}
