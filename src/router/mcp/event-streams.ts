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
import {
  type ResourceWatch,
  type WatchOptions,
  type WatchRequest,
  watchResources,
} from './resource-watch.ts';
import { type Feed, feedSession } from './session-feed.ts';
import { watchTasks } from './task-watch.ts';
import { refuseWithoutTasks } from './tasks.ts';

/** Streams to clients of several agents: what changed in lists, and what agents say outside of calls. */
export interface EventStreams {
  /**
   * GET of the sessions era; `callOf` is the session's own stream at an agent. Carries no event ids. Throws RpcError
   * when there are too many.
   */
  openSession(surface: () => McpSurface, callOf: (agent: string) => AgentCall, client: ServerResponse): void;
  /** `subscriptions/listen`. Rejects with RpcError. */
  listen(surface: () => McpSurface, request: WatchRequest, client: ServerResponse): Promise<void>;
  /** Ends the stream to a client as the specification wants it. */
  end(client: ServerResponse): void;
  /** Ends every stream; clients come back. */
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
      const filter = readFilter(message, services.limits.listenUris);
      checkRoom();
      const { feed, granted } = await watch({ ...request, services, streams: agentStreams, surface }, filter);
      const { first, last, meta } = framesOf(services, message, granted);
      const { wanted } = filter;
      if (client.destroyed || streams.size >= services.limits.eventStreams) {
        feed?.close();
        checkRoom();
        return;
      }
      if (wanted.length > 0 || (feed?.granted.length ?? 0) > 0) {
        open({ surface, client, feed, wanted, meta, last }, first);
        feed?.start((text) => write(services, client, text));
        return;
      }
      feed?.close();
      client.writeHead(200, sseHeaders);
      client.end(first + last);
    },
    end(client) {
      for (const stream of streams) if (stream.client === client) client.end(stream.last ?? '');
    },
    close() {
      for (const { client, last } of streams) client.end(last ?? '');
    },
  };
}

/** What agents have to be asked for, and what of the wish is granted. */
async function watch(
  asked: Omit<WatchOptions, 'uris'>,
  { wanted, uris, taskIds }: Filter,
): Promise<{ readonly feed: ResourceWatch | undefined; readonly granted: Filter }> {
  const { services, surface, speaker } = asked;
  if (taskIds.length > 0 && (await services.abouts.of(surface())).tasks.length > 0)
    refuseWithoutTasks(speaker);
  const [resources, tasks] = await Promise.all([
    uris.length === 0 ? undefined : watchResources({ ...asked, uris }),
    taskIds.length === 0 ? undefined : watchTasks({ ...asked, taskIds }),
  ]);
  return {
    feed: joinWatches(resources, tasks),
    granted: { wanted, uris: resources?.granted ?? [], taskIds: tasks?.granted ?? [] },
  };
}

function joinWatches(
  one: ResourceWatch | undefined,
  other: ResourceWatch | undefined,
): ResourceWatch | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const both = [one, other];
  return {
    granted: both.flatMap(({ granted }) => granted),
    start(write) {
      for (const { start } of both) start(write);
    },
    sync() {
      for (const watch of both) watch.sync();
    },
    close() {
      for (const watch of both) watch.close();
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
  { wanted, uris, taskIds }: Filter,
): { readonly first: string; readonly last: string; readonly meta: Record<string, unknown> } {
  const meta = { [metaKeys.subscriptionId]: message.id };
  const notifications = {
    ...Object.fromEntries(wanted.map((notice) => [`${notice}ListChanged`, true])),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
    ...(taskIds.length > 0 && { taskIds }),
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
  readonly taskIds: readonly string[];
}

/** What a listen request asks for. Throws RpcError. */
function readFilter(message: JsonRpcRequest, mostUris: number): Filter {
  const filter = message.params?.['notifications'];
  if (!isObject(filter)) {
    throw new RpcError(errorCodes.invalidParams, 'Invalid params: "notifications" must be an object');
  }
  return {
    wanted: notices.filter((notice) => filter[`${notice}ListChanged`] === true),
    uris: readNames(filter, 'resourceSubscriptions', mostUris, 'URIs'),
    taskIds: readNames(filter, 'taskIds', mostUris, 'ids'),
  };
}

function readNames(
  filter: Record<string, unknown>,
  member: string,
  most: number,
  what: string,
): readonly string[] {
  const names = filter[member] ?? [];
  if (Array.isArray(names) && names.length <= most && names.every((name) => typeof name === 'string'))
    return [...new Set(names)];
  throw new RpcError(
    errorCodes.invalidParams,
    `Invalid params: "notifications.${member}" must be a list of at most ${most} ${what}`,
  );
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
  const { naming, tools, resources, prompts, searchAbove, limits } = surface;
  const rules = JSON.stringify([naming, tools, resources, prompts, searchAbove, limits?.key]);
  const agents = surface.agents.map((name) => {
    const target = targets.get(`${surface.namespace}/${name}`);
    return `${name} ${target?.listsDigest} ${target?.unavailable === undefined}`;
  });
  return [rules, ...agents].join('\n');
}
