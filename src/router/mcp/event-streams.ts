import type { ServerResponse } from 'node:http';
import { isObject } from '#kit/json.ts';
import { metaKeys } from '#mcp/eras.ts';
import { errorCodes, type JsonRpcRequest, notificationOf, RpcError, resultOf } from '#mcp/jsonrpc.ts';
import { encodeMessage, sseHeaders, sseKeepAlive } from '#mcp/sse.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { Services } from '../services.ts';
import type { AgentCall } from '../upstream/send.ts';
import { createAgentStreams } from './agent-streams.ts';
import { serverInfo } from './outcome.ts';
import { type WatchRequest, watchResources } from './resource-watch.ts';
import { type Feed, feedSession } from './session-feed.ts';

/** Streams to clients of several agents: what changed in lists, and what agents say outside of calls. */
export interface EventStreams {
  /**
   * GET of the sessions era; `callOf` is the session's own stream at an agent. Carries no event ids. Throws RpcError
   * when there are too many.
   */
  openSession(surface: () => McpSurface, callOf: (agent: string) => AgentCall, client: ServerResponse): void;
  /** `subscriptions/listen`. Rejects with RpcError. */
  listen(surface: () => McpSurface, request: WatchRequest, client: ServerResponse): Promise<void>;
  /** Ends every stream as the specification wants it; clients come back. */
  close(): void;
}

type Notice = 'tools' | 'resources' | 'prompts';
const notices: readonly Notice[] = ['tools', 'resources', 'prompts'];

interface Stream {
  readonly client: ServerResponse;
  readonly surface: () => McpSurface;
  readonly wanted: readonly Notice[];
  readonly meta: Record<string, unknown> | undefined;
  readonly last: string | undefined;
  readonly feed: Feed | undefined;
  stamp: string;
}

export function createEventStreams(services: Services): EventStreams {
  const streams = new Set<Stream>();
  const agentStreams = createAgentStreams(services);
  services.onChange(() => {
    for (const stream of streams) {
      announce(services, stream);
      stream.feed?.sync();
    }
  });

  function checkRoom(): void {
    if (streams.size >= services.limits.eventStreams) {
      throw tooManyStreams();
    }
  }
  function open(options: Omit<Stream, 'stamp'>, first: string): void {
    const { client, feed } = options;
    const stream = { ...options, stamp: stampOf(services, options.surface()) };
    client.writeHead(200, sseHeaders);
    client.write(first);
    streams.add(stream);
    let cancel = () => {};
    const beat = () => {
      write(services, client, sseKeepAlive);
      feed?.sync();
      cancel = services.clock.after(services.limits.streamKeepAliveMs, beat);
    };
    cancel = services.clock.after(services.limits.streamKeepAliveMs, beat);
    client.once('close', () => {
      cancel();
      feed?.close();
      streams.delete(stream);
    });
    feed?.sync();
  }
  return {
    openSession(surface, callOf, client) {
      checkRoom();
      const feed = feedSession({
        ...{ services, surface, callOf, streams: agentStreams },
        write: (text) => write(services, client, text),
      });
      open({ surface, client, feed, wanted: notices, meta: undefined, last: undefined }, sseKeepAlive);
    },
    async listen(surface, request, client) {
      const { message } = request;
      const { wanted, uris } = readFilter(message, services.limits.listenUris);
      checkRoom();
      const asked = { ...request, services, streams: agentStreams, surface, uris };
      const feed = uris.length === 0 ? undefined : await watchResources(asked);
      const granted = feed?.granted ?? [];
      const { first, last, meta } = framesOf(services, message, wanted, granted);
      if (client.destroyed || streams.size >= services.limits.eventStreams) {
        feed?.close();
        checkRoom();
        return;
      }
      if (wanted.length > 0 || granted.length > 0) {
        open({ surface, client, feed, wanted, meta, last }, first);
        feed?.start((text) => write(services, client, text));
        return;
      }
      feed?.close();
      client.writeHead(200, sseHeaders);
      client.end(first + last);
    },
    close() {
      for (const { client, last } of streams) client.end(last ?? '');
    },
  };
}

export function tooManyStreams(): RpcError {
  return new RpcError(errorCodes.internal, 'Too many event streams are open; try again later');
}

/** A client that does not read is cut off, so that it costs no memory. */
function write({ limits }: Services, client: ServerResponse, text: string): void {
  if (client.writableLength > limits.unreadStreamBytes) client.destroy();
  else if (!client.writableEnded) client.write(text);
}

/** What a subscription begins and ends with. */
function framesOf(
  services: Services,
  message: JsonRpcRequest,
  wanted: readonly Notice[],
  uris: readonly string[],
): { readonly first: string; readonly last: string; readonly meta: Record<string, unknown> } {
  const meta = { [metaKeys.subscriptionId]: message.id };
  const notifications = {
    ...Object.fromEntries(wanted.map((notice) => [`${notice}ListChanged`, true])),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  };
  const acknowledged = notificationOf('notifications/subscriptions/acknowledged', {
    notifications,
    _meta: meta,
  });
  const result = {
    resultType: 'complete',
    _meta: { ...meta, [metaKeys.serverInfo]: serverInfo(services) },
  };
  return { meta, first: encodeMessage(acknowledged), last: encodeMessage(resultOf(message.id, result)) };
}

interface Filter {
  readonly wanted: readonly Notice[];
  readonly uris: readonly string[];
}

/** What a listen request asks for. Throws RpcError. */
function readFilter(message: JsonRpcRequest, mostUris: number): Filter {
  const filter = message.params?.['notifications'];
  if (!isObject(filter)) {
    throw new RpcError(errorCodes.invalidParams, 'Invalid params: "notifications" must be an object');
  }
  const uris = filter['resourceSubscriptions'] ?? [];
  const isList =
    Array.isArray(uris) && uris.length <= mostUris && uris.every((uri) => typeof uri === 'string');
  if (!isList) {
    throw new RpcError(
      errorCodes.invalidParams,
      `Invalid params: "notifications.resourceSubscriptions" must be a list of at most ${mostUris} URIs`,
    );
  }
  return {
    wanted: notices.filter((notice) => filter[`${notice}ListChanged`] === true),
    uris: [...new Set(uris)],
  };
}

function announce(services: Services, stream: Stream): void {
  const stamp = stampOf(services, stream.surface());
  if (stamp === stream.stamp) return;
  stream.stamp = stamp;
  const params = stream.meta === undefined ? undefined : { _meta: stream.meta };
  for (const notice of stream.wanted) {
    const change = notificationOf(`notifications/${notice}/list_changed`, params);
    write(services, stream.client, encodeMessage(change));
  }
}

/** Moves when any list of the surface may have. */
function stampOf(services: Services, surface: McpSurface): string {
  const { targets } = services.tables.current();
  const { naming, tools, resources, prompts, searchAbove } = surface;
  const rules = JSON.stringify([naming, tools, resources, prompts, searchAbove]);
  const agents = surface.agents.map((name) => {
    const target = targets.get(`${surface.namespace}/${name}`);
    return `${name} ${target?.listsDigest} ${target?.unavailable === undefined}`;
  });
  return [rules, ...agents].join('\n');
}
