import type { Clock } from '#kit/clock.ts';
import { loopbackConnections } from '../loopback.ts';
import type { ClientLink } from './client-links.ts';
import {
  type ConnectionEvents,
  eventsOf,
  type OpenConnection,
  type UpstreamCall,
  type UpstreamConnection,
} from './connection.ts';
import { isStateless } from './handshake.ts';
import { HttpClient } from './http-client.ts';
import type { HttpTarget } from './http-exchange.ts';
import { createRunningTasks, notingTasks } from './running-tasks.ts';
import { type AnswerQuestion, createSessionClients } from './session-clients.ts';

export interface HttpSessionOptions {
  readonly clock: Clock;
  /** Milliseconds for the handshake. */
  readonly startMs: number;
  readonly maxMessageBytes: number;
  /** Levels of nesting of one message. Default: as the settings have it. */
  readonly maxDepth?: number;
  /** Interim answers (1xx) to one request. Default: as the settings have it. */
  readonly maxInterim?: number;
  /** As HttpClientOptions. Sessions are then looked for when the first client with one comes. */
  readonly statelessFirst?: boolean;
  /** Upstream sessions of single clients at once. */
  readonly maxSessions: number;
  /** Milliseconds until an unused one ends. */
  readonly sessionIdleMs: number;
}

export interface HttpUpstreamOptions extends HttpSessionOptions {
  readonly port: number;
  readonly path: string;
}

/** The agent's own MCP server on 127.0.0.1, of either era, with or without sessions. */
export function httpConnector(options: HttpUpstreamOptions): OpenConnection {
  const { port, path, ...limits } = options;
  return connectorTo(options, () => {
    const agent = loopbackConnections();
    const streams = loopbackConnections(Number.POSITIVE_INFINITY);
    return { agent, streams, port, path, ...limitsOf(limits) };
  });
}

export function limitsOf({
  maxMessageBytes,
  maxDepth,
  maxInterim,
}: HttpSessionOptions): Pick<HttpTarget, 'maxMessageBytes' | 'maxDepth' | 'maxInterim'> {
  return {
    maxMessageBytes,
    ...(maxDepth !== undefined && { maxDepth }),
    ...(maxInterim !== undefined && { maxInterim }),
  };
}

/** A connection to an HTTP server, with the means to look whether it still serves. */
export interface HttpConnection extends UpstreamConnection {
  /** Asks the server for next to nothing. Rejects as `request` does. */
  probe(call: UpstreamCall): Promise<unknown>;
  markClosed(reason: string): void;
}

/** How long, in milliseconds, a server may take to hear that all of its sessions end. */
const closeMs = 5_000;

/** A call's server messages come on its own answer, so that they can be told apart. `reach` makes what one connection uses. */
export function connectorTo(
  options: HttpSessionOptions,
  reach: () => HttpTarget,
): (events: ConnectionEvents, signal: AbortSignal) => Promise<HttpConnection> {
  const { clock, startMs } = options;
  return async (events, signal) => {
    const target = reach();
    const { statelessFirst = false } = options;
    const client = new HttpClient({ target, events, clock, statelessFirst });
    const clients = createSessionClients({
      clock,
      idleMs: options.sessionIdleMs,
      max: options.maxSessions,
      oneByOne: false,
      open: (capabilities, answer, stop, session) =>
        openLink(options, target, eventsOf(session, events), { capabilities, answer, stop }),
      onLost: (reason) => client.markClosed(reason),
    });
    const release = () => {
      target.agent.destroy();
      target.streams.destroy();
    };
    const open = () => client.open({ signal, timeoutMs: startMs, context: undefined });
    await open().catch((error: unknown) => {
      release();
      throw error;
    });
    // What is lost takes every client's session with it; the next connection begins anew.
    void client.closed.then(() => {
      client.hush();
      return clients.close();
    });
    client.listen();
    let finding: Promise<void> | undefined;
    return {
      findEras() {
        finding ??= client.findSessions({ signal, timeoutMs: startMs, context: undefined });
        return finding;
      },
      get info() {
        return client.info;
      },
      closed: client.closed,
      markClosed: client.markClosed,
      request: (method, params, call) =>
        // A server of 2026-07-28 asks in its results, and needs no session of a client.
        (isStateless(client.info) ? undefined : clients.request(method, params, call)) ??
        client.request(method, params, call, open),
      probe: (call) => client.request(isStateless(client.info) ? 'server/discover' : 'ping', {}, call, open),
      listen: client.listenFor,
      subscribe: (uri) => client.subscribe(uri),
      unsubscribe: (uri) => client.unsubscribe(uri),
      endSession: clients.end,
      async close() {
        const inTime = Promise.withResolvers<void>();
        const cancel = clock.after(closeMs, inTime.resolve);
        await Promise.race([Promise.all([client.end(), clients.close()]), inTime.promise]);
        cancel();
        release();
      },
    };
  };
}

/** Many servers ask on their own stream of the session; what they ask before it is there, nobody hears. */
const streamPatienceMs = 1000;

function soon(promise: Promise<void>, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(streamPatienceMs, resolve);
    void promise.then(cancel).then(resolve);
  });
}

/** An upstream session of one client, which declares what that client can answer. */
async function openLink(
  { clock, startMs }: HttpSessionOptions,
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
  await soon(http.heard, clock);
  const tasks = createRunningTasks(clock);
  return {
    request: notingTasks(tasks, (method, params, call) => http.request(method, params, call, open)),
    closed: http.closed,
    get held() {
      return http.memory.uris.size > 0 || tasks.any;
    },
    end: () => http.end(),
  };
}
