import type { JsonRpcResponse, RequestId } from '#mcp/jsonrpc.ts';
import type { LogLevel } from '#mcp/types.ts';
import type { KeptStream } from '../streams/kept-stream.ts';
import type { Caller } from './guard.ts';

/** From this revision on a server may end a stream at any time and be asked for the rest. */
export const firstPolledRevision = '2025-11-25';

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
  /**
   * An id for a question to the client: names this instance, so that whoever routes finds it, and is never given twice,
   * so that no answer is taken for that to another question.
   */
  readonly mintQuestionId: () => string;
  /** GET streams, the youngest last; a notification goes to the youngest that is read, else waits in the youngest. */
  streams: KeptStream[] | undefined;
  /** Monotonic milliseconds. */
  lastUsed: number;
}

export function newSession(
  of: Pick<Session, 'key' | 'id' | 'revision' | 'mintQuestionId'>,
  now: number,
): Session {
  return {
    ...of,
    capabilities: {},
    client: undefined,
    logLevel: undefined,
    subscriptions: undefined,
    calls: undefined,
    questions: undefined,
    streams: undefined,
    lastUsed: now,
  };
}

/** Sends to the client's own stream, as JSON text; dropped when it has none to come back to. */
export function sendToSession({ streams }: Session, json: string): void {
  if (streams === undefined) return;
  const stream = streams.findLast(({ hasReader }) => hasReader) ?? streams.at(-1);
  stream?.send(json);
}

/** Whether nobody listens and nothing runs. */
export function isIdle({ streams, calls }: Session): boolean {
  return (calls?.size ?? 0) === 0 && !(streams ?? []).some(({ hasReader }) => hasReader);
}

export function callsOf(session: Session): Map<RequestId, AbortController> {
  session.calls ??= new Map();
  return session.calls;
}

/** Whether its client knows events without data, by which a stream can be taken up before it told anything. */
export function primes({ revision }: Session): boolean {
  return revision >= firstPolledRevision;
}

/** Whose limits count for what the session keeps: the user, or the session where nobody in particular calls. */
export function ownerOf({ claims }: Caller, session: Session): string {
  return claims === undefined || claims.sub === ''
    ? session.key
    : JSON.stringify([claims.caller, claims.sub]);
}
