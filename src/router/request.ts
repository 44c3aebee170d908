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
  /** Where the plugin listens that answers it; see paths.ts. */
  readonly internal: string;
}

const facts = Symbol('facts');
/** On the request itself: a WeakMap with as many entries as requests costs the collector more than all of this. */
type Known = IncomingMessage & { [facts]?: RequestFacts };

export function rememberFacts(request: IncomingMessage, known: RequestFacts): RequestFacts {
  (request as Known)[facts] = known;
  return known;
}

/** Undefined before the request was resolved. */
export function knownFacts(request: IncomingMessage): RequestFacts | undefined {
  return (request as Known)[facts];
}

export function factsOf(request: IncomingMessage): RequestFacts {
  const known = knownFacts(request);
  if (known === undefined) throw new Error('a request was not resolved');
  return known;
}

export interface HostAndPort {
  readonly host: string;
  readonly port: number | undefined;
}

/** Hosts as they were sent before; almost every request has one of few. */
const splitBefore = new Map<string, HostAndPort | undefined>();
const mostSplit = 256;
const longestKept = 300;
/** A name of DNS has no more characters. */
const longestHost = 253;

/** `name`, `name:port`, `[v6]:port`; undefined for anything else and for longer names than there can be. */
export function splitHost(header: string | undefined): HostAndPort | undefined {
  if (header === undefined) return undefined;
  const known = splitBefore.get(header);
  if (known !== undefined || header.length > longestKept) return known ?? splitAnew(header);
  const made = splitAnew(header);
  if (splitBefore.size >= mostSplit) splitBefore.clear();
  splitBefore.set(header, made);
  return made;
}

function splitAnew(header: string): HostAndPort | undefined {
  const match = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(header);
  if (match?.[1] === undefined || match[1].length > longestHost) return undefined;
  return { host: match[1].toLowerCase(), port: match[2] === undefined ? undefined : Number(match[2]) };
}

/** As its head says. */
export function sendsBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

const fromAgents = new WeakSet<object>();

/** Marks a connection that came through the socket that sandboxes reach. */
export function markAgentSocket(socket: object): void {
  fromAgents.add(socket);
}

export function isFromAgent(request: IncomingMessage): boolean {
  return fromAgents.has(request.socket);
}
