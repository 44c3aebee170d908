import { Agent, type buildConnector, type Dispatcher } from 'undici';

/** Where the API is and who asks. Made by the functions of this folder; closed by the client that got it. */
export interface Endpoint {
  /** Scheme, host and port; for a Unix socket a placeholder host. */
  readonly origin: string;
  /** What stands before `/api` and `/apis`: '' or `/prefix`. */
  readonly pathPrefix: string;
  /** For calls that end; holds at most `maxConnections` sockets, the rest wait. */
  dispatcher(): Dispatcher;
  /** For watches: a connection each, so that they never hold up calls. */
  streams(): Dispatcher;
  /** Headers that authenticate the next request. Never logged. */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** Called after a 401: forget cached credentials. Returns false when trying again cannot help. */
  refresh(): boolean;
  close(): Promise<void>;
}

export interface ConnectionLimits {
  /** Sockets for calls that end. Default 32. */
  readonly maxConnections?: number;
  /** Time to connect, TLS included, in milliseconds. Default 10,000. */
  readonly connectTimeoutMs?: number;
}

/** A pair of agents over one way to connect. Request deadlines are the client's, not undici's. */
export interface AgentPair {
  readonly calls: Dispatcher;
  readonly streams: Dispatcher;
  /** Takes no more requests and ends by itself with the last of those that run. */
  retire(): void;
  /** Cuts everything. */
  close(): Promise<void>;
}

export function createAgentPair(
  connect: buildConnector.BuildOptions | buildConnector.connector,
  limits: ConnectionLimits,
): AgentPair {
  // HTTP/2 brings nothing here, and undici ends an idle session of it with an error that nobody can catch.
  const common = { connect, headersTimeout: 0, bodyTimeout: 0, pipelining: 1, allowH2: false };
  return pairAgents(new Agent({ ...common, connections: limits.maxConnections ?? 32 }), new Agent(common));
}

export function pairAgents(calls: Dispatcher, streams: Dispatcher): AgentPair {
  return {
    calls,
    streams,
    retire: () => {
      calls.close().catch(() => undefined);
      streams.close().catch(() => undefined);
    },
    close: async () => {
      await Promise.all([calls.destroy(), streams.destroy()]);
    },
  };
}

export interface TlsOptions {
  /** PEM. Default: the system's certificate authorities. */
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** Name to verify instead of the URL's host. */
  readonly servername?: string;
}

/** The API behind a Unix socket. Whoever may connect is its owner, so nothing authenticates. */
export function unixEndpoint(socketPath: string, limits: ConnectionLimits = {}): Endpoint {
  const timeout = limits.connectTimeoutMs ?? 10_000;
  const agents = createAgentPair({ socketPath, timeout }, limits);
  return plainEndpoint('http://localhost', '', agents, {});
}

/** The API at a URL, optionally with a fixed bearer token. For a token that rotates see `inClusterEndpoint`. */
export function urlEndpoint(
  url: string,
  options: { readonly token?: string; readonly tls?: TlsOptions; readonly limits?: ConnectionLimits } = {},
): Endpoint {
  const limits = options.limits ?? {};
  const agents = createAgentPair({ ...options.tls, timeout: limits.connectTimeoutMs ?? 10_000 }, limits);
  const { origin, pathname } = new URL(url);
  const headers: Record<string, string> =
    options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
  return plainEndpoint(origin, pathname.replace(/\/+$/, ''), agents, headers);
}

/** `unix:/path` or an http(s) URL, as configuration writes an endpoint. */
export function endpointFromAddress(address: string, limits: ConnectionLimits = {}): Endpoint {
  return address.startsWith('unix:')
    ? unixEndpoint(address.slice('unix:'.length), limits)
    : urlEndpoint(address, { limits });
}

function plainEndpoint(
  origin: string,
  pathPrefix: string,
  agents: AgentPair,
  headers: Readonly<Record<string, string>>,
): Endpoint {
  return {
    origin,
    pathPrefix,
    dispatcher: () => agents.calls,
    streams: () => agents.streams,
    headers: async () => headers,
    refresh: () => false,
    close: () => agents.close(),
  };
}
