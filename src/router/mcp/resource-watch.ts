import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '#kit/json.ts';
import { metaKeys } from '#mcp/eras.ts';
import { type JsonRpcRequest, notificationOf } from '#mcp/jsonrpc.ts';
import { encodeMessage } from '#mcp/sse.ts';
import type { McpSurface } from '#routing/surface.ts';
import { partsWithin } from '../catalog/within.ts';
import type { Services } from '../services.ts';
import { callWith, withParams } from './agent-call.ts';
import { type AgentStreams, type SwitchedStream, switchedStream } from './agent-streams.ts';
import { deadlineOf } from './backends.ts';
import type { Speaker } from './inbound.ts';
import { locateUri, permitsUri } from './locate.ts';
import { parseAgentJson, type ReadOptions } from './read-answer.ts';
import type { Feed } from './session-feed.ts';

export interface WatchRequest {
  readonly message: JsonRpcRequest;
  readonly speaker: Speaker;
  readonly headers: IncomingHttpHeaders;
}

export interface WatchOptions extends WatchRequest {
  readonly services: Services;
  readonly streams: AgentStreams;
  readonly surface: () => McpSurface;
  /** As the client calls them. */
  readonly uris: readonly string[];
}

export interface ResourceWatch extends Feed {
  /** What is watched that some agent tells changes of, as the client calls it. */
  readonly granted: readonly string[];
  /** Changes go there from now on, those that came before first. */
  start(write: (text: string) => void): void;
}

/**
 * Splits a listen request by the agents that own the resources, and waits for their word until the surface's
 * deadline. An agent whose stream breaks, or that is taken away and comes back, is asked again, and its resources then
 * count as changed. Whether rules let the client have a resource is asked at each change.
 */
export async function watchResources(options: WatchOptions): Promise<ResourceWatch> {
  const { services, surface } = options;
  const owned = await ownersOf(options);
  const { subscribable } = await services.abouts.of(surface());
  const asked = [...owned].filter(([agent]) => subscribable.includes(agent));
  const outlet = createOutlet(services.limits.listenUris);
  const watches = asked
    .slice(0, services.limits.agentStreamsPerClient)
    .map(([agent, uris]) => watchAgent(options, agent, uris, outlet.write));
  const words = watches.map(({ granted, uris }) => ({ part: granted, late: () => stop(uris) }));
  const granted = (await partsWithin(words, deadlineOf(services, surface()), services.clock)).flat();
  const close = () => {
    for (const { stream } of watches) stream?.close();
  };
  return {
    granted,
    start: outlet.open,
    close,
    sync() {
      const { agents } = surface();
      for (const { agent, stream } of watches) stream?.turn(agents.includes(agent));
    },
  };
}

/** By agent: how the client calls what the agent calls so. What nobody has is left out. */
async function ownersOf({
  services,
  surface,
  uris,
}: WatchOptions): Promise<Map<string, Map<string, string>>> {
  const now = surface();
  const owners = await Promise.all(
    uris.map((uri) =>
      locateUri(services, now, uri).then(
        ({ agent, name }) => ({ agent, name, uri }),
        () => undefined,
      ),
    ),
  );
  const byAgent = new Map<string, Map<string, string>>();
  for (const owner of owners) {
    if (owner === undefined) continue;
    const own = byAgent.get(owner.agent) ?? new Map<string, string>();
    byAgent.set(owner.agent, own.set(owner.name, owner.uri));
  }
  return byAgent;
}

interface AgentWatch {
  readonly agent: string;
  readonly uris: Map<string, string>;
  /** Settles with the agent's first word. */
  readonly granted: Promise<string[]>;
  /** Undefined: the agent's share of streams is used up. */
  readonly stream: SwitchedStream | undefined;
}

/** `uris` is emptied of what the agent does not grant. */
function watchAgent(
  { services, streams, surface, message, speaker, headers }: WatchOptions,
  agent: string,
  uris: Map<string, string>,
  write: (text: string) => void,
): AgentWatch {
  const notifications = { resourceSubscriptions: [...uris.keys()] };
  const sent = withParams(message, { ...message.params, notifications }, headers);
  const call = callWith(`${surface().namespace}/${agent}`, sent.message, { speaker, headers: sent.headers });
  const word = Promise.withResolvers<string[]>();
  const pass = async (params: Record<string, unknown>) => {
    const name = String(params['uri']);
    const uri = uris.get(name);
    const now = surface();
    if (uri === undefined || !now.agents.includes(agent)) return;
    if (!(await permitsUri(services, now, { agent, name }))) return;
    const meta = { ...(isObject(params['_meta']) && params['_meta']), [metaKeys.subscriptionId]: message.id };
    const told = { ...params, uri, _meta: meta };
    write(encodeMessage(notificationOf('notifications/resources/updated', told)));
  };
  let last = Promise.resolve();
  const tell = (params: Record<string, unknown>) => {
    last = last
      .then(() => pass(params))
      .catch((error: unknown) => services.log.debug('a change of a resource was not told', { error }));
  };
  let isFirst = true;
  const onEvent = (data: string) => {
    const { method, params } = readNotice(data, { agent, maxDepth: services.limits.answerDepth });
    if (method === 'notifications/resources/updated') tell(params);
    else if (method !== 'notifications/subscriptions/acknowledged') return;
    else if (isFirst) {
      isFirst = false;
      word.resolve(grantedOf(params, uris));
    } else for (const name of uris.keys()) tell({ uri: name });
  };
  const onFailure = () => word.resolve(isFirst ? stop(uris) : []);
  const stream = switchedStream(() => streams.keep({ call, onEvent, onFailure }));
  if (stream === undefined) word.resolve([]);
  return { agent, uris, granted: word.promise, stream };
}

/** Nothing is told of these any more: the client was told that it is not. */
function stop(uris: Map<string, string>): string[] {
  uris.clear();
  return [];
}

function grantedOf(params: Record<string, unknown>, uris: Map<string, string>): string[] {
  const notifications = isObject(params['notifications']) ? params['notifications'] : {};
  const list = notifications['resourceSubscriptions'];
  const granted = new Set<unknown>(Array.isArray(list) ? list : []);
  for (const own of [...uris.keys()]) if (!granted.has(own)) uris.delete(own);
  return [...uris.values()];
}

interface Notice {
  readonly method: unknown;
  readonly params: Record<string, unknown>;
}

/** What an event of an agent's stream says; without a method when it says nothing. Throws as parseAgentJson. */
export function readNotice(data: string, options: ReadOptions): Notice {
  const message = parseAgentJson(data, options);
  if (!isObject(message)) return { method: undefined, params: {} };
  const { method, params } = message;
  return { method, params: isObject(params) ? params : {} };
}

/** Holds back what comes before the client has its acknowledgement; beyond `most`, the oldest is dropped. */
export function createOutlet(most: number) {
  const held: string[] = [];
  let to: ((text: string) => void) | undefined;
  return {
    write(text: string): void {
      if (to !== undefined) to(text);
      else if (held.push(text) > most) held.shift();
    },
    open(write: (text: string) => void): void {
      to = write;
      for (const text of held.splice(0)) write(text);
    },
  };
}
