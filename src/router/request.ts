import type { IncomingMessage } from 'node:http';
import type { Resolution } from '#routing/resolve.ts';

/** What is known of a request before anything of it is believed. */
export interface RequestFacts {
  /** Host header in lower case, without port; '' when there is none. */
  readonly host: string;
  readonly port: number | undefined;
  /** As sent, without the query. */
  readonly path: string;
  /** With its question mark, or empty. */
  readonly search: string;
  readonly resolution: Resolution;
}

const facts = new WeakMap<IncomingMessage, RequestFacts>();

export function rememberFacts(request: IncomingMessage, known: RequestFacts): void {
  facts.set(request, known);
}

export function factsOf(request: IncomingMessage): RequestFacts {
  const known = facts.get(request);
  if (known === undefined) throw new Error('a request was not resolved');
  return known;
}

/** `name`, `name:port`, `[v6]:port`; undefined for anything else. */
export function splitHost(
  header: string | undefined,
): { host: string; port: number | undefined } | undefined {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(header ?? '');
  if (match?.[1] === undefined) return undefined;
  return { host: match[1].toLowerCase(), port: match[2] === undefined ? undefined : Number(match[2]) };
}

const fromAgents = new WeakSet<object>();

/** Marks a connection that came through the socket that sandboxes reach. */
export function markAgentSocket(socket: object): void {
  fromAgents.add(socket);
}

export function isFromAgent(request: IncomingMessage): boolean {
  return fromAgents.has(request.socket);
}
