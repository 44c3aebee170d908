import type { Clock } from '#kit/clock.ts';
import { loopbackConnections } from '../loopback.ts';
import type { ClientLink } from './client-links.ts';
import type { ConnectionEvents, OpenConnection } from './connection.ts';
import { isStateless } from './handshake.ts';
import { HttpClient } from './http-client.ts';
import type { HttpTarget } from './http-exchange.ts';
import { type AnswerQuestion, createSessionClients } from './session-clients.ts';

export interface HttpUpstreamOptions {
  readonly port: number;
  readonly path: string;
  readonly clock: Clock;
  /** Milliseconds for the handshake. */
  readonly startMs: number;
  readonly maxMessageBytes: number;
  readonly maxDepth?: number;
  /** Upstream sessions of single clients at once. */
  readonly maxSessions: number;
  /** Milliseconds until an unused one ends. */
  readonly sessionIdleMs: number;
}

/**
 * The agent's own MCP server on 127.0.0.1, of either era, with or without sessions. A call's server messages
 * come on its own answer, so that they can be told apart.
 */
export function httpConnector(options: HttpUpstreamOptions): OpenConnection {
  const { clock, startMs } = options;
  return async (events, signal) => {
    const agent = loopbackConnections();
    const streams = loopbackConnections(Number.POSITIVE_INFINITY);
    const { port, path, maxMessageBytes, maxDepth } = options;
    const target = {
      agent,
      streams,
      port,
      path,
      maxMessageBytes,
      ...(maxDepth !== undefined && { maxDepth }),
    };
    const client = new HttpClient({ target, events, clock });
    const clients = createSessionClients({
      clock,
      idleMs: options.sessionIdleMs,
      max: options.maxSessions,
      oneByOne: false,
      open: (capabilities, answer, stop) => openLink(options, target, events, { capabilities, answer, stop }),
      onLost: (reason) => client.markClosed(reason),
    });
    const open = () => client.open({ signal, timeoutMs: startMs, context: undefined });
    await open();
    // What is lost takes every client's session with it; the next connection begins anew.
    void client.closed.then(() => {
      client.hush();
      return clients.close();
    });
    client.listen();
    return {
      get info() {
        return client.info;
      },
      closed: client.closed,
      request: (method, params, call) =>
        // A server of 2026-07-28 asks in its results, and needs no session of a client.
        (isStateless(client.info) ? undefined : clients.request(method, params, call)) ??
        client.request(method, params, call, open),
      subscribe: (uri) => client.subscribe(uri),
      unsubscribe: (uri) => client.unsubscribe(uri),
      endSession: clients.end,
      async close() {
        await Promise.all([client.end(), clients.close()]);
        agent.destroy();
        streams.destroy();
      },
    };
  };
}

/** An upstream session of one client, which declares what that client can answer. */
async function openLink(
  { clock, startMs }: HttpUpstreamOptions,
  target: HttpTarget,
  events: ConnectionEvents,
  client: {
    readonly capabilities: Readonly<Record<string, unknown>>;
    readonly answer: AnswerQuestion;
    readonly stop: AbortSignal;
  },
): Promise<ClientLink> {
  const { capabilities, answer, stop } = client;
  const http = new HttpClient({ target, events, clock, capabilities, answer });
  const open = () => http.open({ signal: stop, timeoutMs: startMs, context: undefined });
  await open();
  http.listen();
  return {
    request: (method, params, call) => http.request(method, params, call, open),
    closed: http.closed,
    get held() {
      return http.memory.uris.size > 0;
    },
    end: () => http.end(),
  };
}
