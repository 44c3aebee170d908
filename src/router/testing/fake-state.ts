import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import type { InvocationClaims } from '#wire/claims.ts';
import type { MasterKey } from '#wire/keys.ts';
import type { Verifier } from '#wire/token.ts';

export interface FakeAgentOptions {
  readonly name: string;
  readonly master: MasterKey;
  readonly instance?: string;
  readonly clock?: Clock;
  readonly tools?: readonly Record<string, unknown>[];
  readonly resources?: readonly Record<string, unknown>[];
  readonly templates?: readonly Record<string, unknown>[];
  readonly prompts?: readonly Record<string, unknown>[];
  /** Members of its capabilities besides the usual ones. */
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly instructions?: string;
  /** Methods that are never answered. */
  readonly hang?: readonly string[];
  /** Asked each time for its queue. Absent: it never answers there. */
  readonly queue?: () => unknown;
  /** Of its files and of what its API answers, besides the usual ones. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Does not hold the agent's key. */
  readonly impostor?: boolean;
}

/** One request as the agent got it, its token already verified. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly claims: InvocationClaims;
  readonly token: string;
  readonly body: string;
}

export interface AgentState {
  readonly options: FakeAgentOptions;
  readonly verifier: Verifier;
  readonly seen: Seen[];
  readonly refused: string[];
  readonly aborted: string[];
  /** Calls counted by session key. */
  readonly sessions: Map<string, number>;
  /** Streams that are open: of sessions, and of `subscriptions/listen` with its id. */
  readonly streams: Set<OpenStream>;
}

export interface OpenStream {
  readonly response: ServerResponse;
  readonly session: string | undefined;
  readonly id?: string | number;
}

export function send(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

export function paramsOf(message: Record<string, unknown>): Record<string, unknown> {
  return isObject(message['params']) ? message['params'] : {};
}
