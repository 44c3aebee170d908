import type { ServerResponse } from 'node:http';
import { isObject } from '#kit/json.ts';
import { metaKeys } from '#mcp/eras.ts';
import { errorCodes, type JsonRpcRequest, notificationOf, RpcError, resultOf } from '#mcp/jsonrpc.ts';
import { encodeMessage, sseHeaders, sseKeepAlive } from '#mcp/sse.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { Services } from '../services.ts';
import { serverInfo } from './outcome.ts';

/** Streams that the router itself feeds: what changed in an aggregate's lists. */
export interface EventStreams {
  /** GET of the sessions era. Carries no event ids. Throws RpcError when there are too many. */
  openSession(surface: () => McpSurface, client: ServerResponse): void;
  /** `subscriptions/listen`. Throws RpcError. */
  listen(surface: () => McpSurface, message: JsonRpcRequest, client: ServerResponse): void;
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
  stamp: string;
}

export function createEventStreams(services: Services): EventStreams {
  const streams = new Set<Stream>();
  services.onChange(() => {
    for (const stream of streams) announce(services, stream);
  });

  function open(options: Omit<Stream, 'stamp'>, first: string): void {
    if (streams.size >= services.limits.eventStreams) {
      throw new RpcError(errorCodes.internal, 'Too many event streams are open; try again later');
    }
    const stream = { ...options, stamp: stampOf(services, options.surface()) };
    options.client.writeHead(200, sseHeaders);
    options.client.write(first);
    streams.add(stream);
    let cancel = () => {};
    const beat = () => {
      if (options.client.writableLength > services.limits.unreadStreamBytes) {
        options.client.destroy();
        return;
      }
      options.client.write(sseKeepAlive);
      cancel = services.clock.after(services.limits.streamKeepAliveMs, beat);
    };
    cancel = services.clock.after(services.limits.streamKeepAliveMs, beat);
    options.client.once('close', () => {
      cancel();
      streams.delete(stream);
    });
  }
  return {
    openSession: (surface, client) =>
      open({ surface, client, wanted: notices, meta: undefined, last: undefined }, sseKeepAlive),
    listen(surface, message, client) {
      const wanted = readFilter(message);
      const meta = { [metaKeys.subscriptionId]: message.id };
      const granted = Object.fromEntries(wanted.map((notice) => [`${notice}ListChanged`, true]));
      const params = { notifications: granted, _meta: meta };
      const first = encodeMessage(notificationOf('notifications/subscriptions/acknowledged', params));
      const result = {
        resultType: 'complete',
        _meta: { ...meta, [metaKeys.serverInfo]: serverInfo(services) },
      };
      const last = encodeMessage(resultOf(message.id, result));
      if (wanted.length > 0) return open({ surface, client, wanted, meta, last }, first);
      client.writeHead(200, sseHeaders);
      client.end(first + last);
    },
    close() {
      for (const { client, last } of streams) client.end(last ?? '');
    },
  };
}

/** The list changes that a listen request asks for; single resources are not watched through an aggregate. */
function readFilter(message: JsonRpcRequest): Notice[] {
  const filter = message.params?.['notifications'];
  if (!isObject(filter)) {
    throw new RpcError(errorCodes.invalidParams, 'Invalid params: "notifications" must be an object');
  }
  return notices.filter((notice) => filter[`${notice}ListChanged`] === true);
}

function announce(services: Services, stream: Stream): void {
  const stamp = stampOf(services, stream.surface());
  if (stamp === stream.stamp) return;
  stream.stamp = stamp;
  const params = stream.meta === undefined ? undefined : { _meta: stream.meta };
  for (const notice of stream.wanted) {
    stream.client.write(encodeMessage(notificationOf(`notifications/${notice}/list_changed`, params)));
  }
}

/** Moves when any list of the surface may have. */
function stampOf(services: Services, surface: McpSurface): string {
  const { targets } = services.tables.current();
  const { naming, tools, searchAbove } = surface;
  const rules = JSON.stringify([naming, tools, searchAbove]);
  const agents = surface.agents.map((name) => {
    const target = targets.get(`${surface.namespace}/${name}`);
    return `${name} ${target?.listsDigest} ${target?.unavailable === undefined}`;
  });
  return [rules, ...agents].join('\n');
}
