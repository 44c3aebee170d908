import type { JsonRpcNotification, JsonRpcResponse, RequestId } from '#mcp/jsonrpc.ts';
import type { LogLevel } from '#mcp/types.ts';

/**
 * What is remembered between the requests of one client of the sessions era. All of a session's state is
 * here and nowhere else: routers only carry its key.
 */
export interface Session {
  /** Unique here. */
  readonly key: string;
  /** What client and tools know it by. */
  readonly id: string;
  /** As `initialize` or the router's token says; the latest word counts. */
  revision: string;
  capabilities: Readonly<Record<string, unknown>>;
  client: { readonly name: string; readonly version: string } | undefined;
  /** Set by logging/setLevel. */
  logLevel: LogLevel | undefined;
  /** URIs of resources/subscribe. */
  subscriptions: Set<string> | undefined;
  /** Requests that run, for notifications/cancelled. */
  calls: Map<RequestId, AbortController> | undefined;
  /** Who waits for the client's answers, by the question's id. */
  questions: Map<RequestId, (response: JsonRpcResponse) => void> | undefined;
  /** Questions put to the client so far; numbers their ids. */
  asked: number;
  /** Open GET streams; a notification goes to the youngest. */
  streams: SessionStream[] | undefined;
  /** Monotonic milliseconds. */
  lastUsed: number;
}

export interface SessionStream {
  send(message: JsonRpcNotification): void;
  close(): void;
}

export function newSession(key: string, id: string, revision: string, now: number): Session {
  return {
    key,
    id,
    revision,
    capabilities: {},
    client: undefined,
    logLevel: undefined,
    subscriptions: undefined,
    calls: undefined,
    questions: undefined,
    asked: 0,
    streams: undefined,
    lastUsed: now,
  };
}

/** Sends to the client's own stream; dropped when it holds none open. */
export function sendToSession(session: Session, message: JsonRpcNotification): void {
  session.streams?.at(-1)?.send(message);
}

export function callsOf(session: Session): Map<RequestId, AbortController> {
  session.calls ??= new Map();
  return session.calls;
}
