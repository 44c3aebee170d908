import { validateHeaderName, validateHeaderValue } from 'node:http';
import { rootCertificates } from 'node:tls';
import type { UpstreamSecrets } from '#api/agent-server-config.ts';
import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { RpcError } from '#mcp/jsonrpc.ts';
import { AgentServerError } from '../../errors.ts';
import type { OpenConnection, UpstreamCall } from '../connection.ts';
import { connectorTo, type HttpConnection, type HttpSessionOptions, limitsOf } from '../http.ts';
import { createAuthorized } from './authorized.ts';
import { fetchOver, hostOf, portOf } from './fetch.ts';
import { holdClients } from './login/clients.ts';
import { LoginTokens, type Visit } from './login/login-tokens.ts';
import { createTokens, type Tokens } from './tokens.ts';
import { TunnelAgent, type WayOut } from './tunnel.ts';

export interface RemoteOptions extends HttpSessionOptions {
  readonly url: URL;
  /** Undefined: the headers are all. */
  readonly oauth: RemoteOAuth | undefined;
  /** Where each person logs in: the browser of the only person that there is. */
  readonly visit?: Visit | undefined;
  /** Asked at each request: they change while the agent runs. */
  readonly secrets: () => UpstreamSecrets;
  readonly proxyPort: number | undefined;
  /** Authorities beside the public ones, where the secrets name none. */
  readonly machineAuthorities: string | undefined;
  /** Milliseconds between two looks whether the server still serves. */
  readonly probeMs: number;
  readonly log: Log;
}

export type RemoteOAuth = AgentOAuth | PersonOAuth;

/** Of the client credentials grant. */
interface AgentOAuth extends OAuthFields {
  readonly clientId: string;
  readonly mode?: 'clientCredentials';
}

/** Of the authorization code grant. */
interface PersonOAuth extends OAuthFields {
  readonly clientId?: string | undefined;
  readonly mode: 'perUser';
}

interface OAuthFields {
  readonly issuer?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
}

/** Of one agent, at most so many; the egress proxy has 128 for it. */
const mostCalls = 64;
const mostStreams = 48;
const tokenTimeoutMs = 30_000;
const probeTimeoutMs = 30_000;

/** A remote MCP server over Streamable HTTP, of either era. */
export function remoteConnector(options: RemoteOptions): OpenConnection {
  const way = wayOut(options);
  const { tls } = targetOf(options);
  const tokens = options.oauth && tokensOf(options.oauth, options, way);
  return connectorWith(options, tokens, () => ({
    agent: new TunnelAgent({ ...way, tls, maxSockets: mostCalls }),
    streams: new TunnelAgent({ ...way, tls, maxSockets: mostStreams }),
  }));
}

/** A remote MCP server to which several people log in. */
export interface RemoteForPeople {
  /** What logins need. */
  readonly flow: ReturnType<typeof tokenOptions>;
  /** All people share the connections; what is sent over them names who asks. */
  connector(tokens: Tokens): OpenConnection;
  end(): void;
}

export function remoteForPeople(options: RemoteOptions): RemoteForPeople {
  const way = wayOut(options);
  const { tls } = targetOf(options);
  const agent = new TunnelAgent({ ...way, tls, maxSockets: mostCalls, shared: true });
  const streams = new TunnelAgent({ ...way, tls, maxSockets: mostStreams, shared: true });
  return {
    flow: tokenOptions(options, way),
    connector: (tokens) => connectorWith(options, tokens, () => ({ agent, streams })),
    end() {
      agent.end();
      streams.end();
    },
  };
}

function targetOf({ url }: RemoteOptions) {
  return { tls: url.protocol === 'https:', port: portOf(url), path: `${url.pathname}${url.search}` };
}

function connectorWith(
  options: RemoteOptions,
  tokens: Tokens | undefined,
  connections: () => { readonly agent: TunnelAgent; readonly streams: TunnelAgent },
): OpenConnection {
  const { url, clock, secrets, probeMs } = options;
  const authorized = createAuthorized({ host: url.host, headers: () => ownHeaders(secrets()), tokens });
  const { port, path } = targetOf(options);
  const connect = connectorTo({ ...options, statelessFirst: true }, () => ({
    ...connections(),
    ...{ port, path, ...limitsOf(options) },
    remote: { host: hostOf(url), authorized },
  }));
  return async (events, signal) => watched(await connect(events, signal), clock, probeMs);
}

function wayOut({ proxyPort, secrets, machineAuthorities, clock }: RemoteOptions): WayOut {
  const machine = machineAuthorities === undefined ? undefined : [...rootCertificates, machineAuthorities];
  return { proxyPort, clock, authorities: () => secrets().ca ?? machine };
}

function tokensOf(oauth: RemoteOAuth, options: RemoteOptions, way: WayOut): Tokens {
  const common = tokenOptions(options, way);
  const { visit, clock } = options;
  if (oauth.mode !== 'perUser') return createTokens({ ...common, clientId: oauth.clientId });
  const clients = holdClients(() => clock.now());
  return new LoginTokens({ ...common, clientId: oauth.clientId, clients, visit });
}

function tokenOptions({ url, oauth, secrets, clock, log }: RemoteOptions, way: WayOut) {
  const agents = {
    'https:': new TunnelAgent({ ...way, tls: true, maxSockets: 2 }),
    'http:': new TunnelAgent({ ...way, tls: false, maxSockets: 2 }),
  };
  const fetch = fetchOver({ agents, clock, timeoutMs: tokenTimeoutMs });
  return { url, issuer: oauth?.issuer, scopes: oauth?.scopes, secrets, clock, log, fetch };
}

/** Headers of the spec. Throws InvalidConfig, without the value, for one that HTTP cannot carry. */
function ownHeaders({ headers }: UpstreamSecrets): Record<string, string> {
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      throw new AgentServerError(
        'InvalidConfig',
        `mcp.upstream.headersFrom: the value of ${name} has characters that no header can have`,
      );
    }
  }
  return headers;
}

/**
 * Looks now and then whether the server still serves, because one without a stream says nothing when it goes, and at
 * once when a call failed in a way that may concern all. What fails to be looked at counts as lost.
 */
function watched(connection: HttpConnection, clock: Clock, probeMs: number): HttpConnection {
  const stop = new AbortController();
  let looking: Promise<void> | undefined;
  let cancel = clock.after(probeMs, next);

  function next(): void {
    void look().finally(() => {
      cancel();
      if (!stop.signal.aborted) cancel = clock.after(probeMs, next);
    });
  }
  function look(): Promise<void> {
    const call = { signal: stop.signal, timeoutMs: probeTimeoutMs, context: undefined };
    looking ??= connection
      .probe(call)
      .catch((error: unknown) => {
        if (!stop.signal.aborted && isLoss(error)) connection.markClosed(messageOf(error));
      })
      .then(() => {
        looking = undefined;
      });
    return looking;
  }
  const end = () => {
    cancel();
    stop.abort(new Error('The connection ends'));
  };
  void connection.closed.then(end);
  return {
    ...connection,
    get info() {
      return connection.info;
    },
    async request(method, params, call: UpstreamCall) {
      try {
        return await connection.request(method, params, call);
      } catch (error) {
        if (suspicious.has(codeOf(error))) void look();
        throw error;
      }
    },
    close() {
      end();
      return connection.close();
    },
  };
}

/** A server's own error is an answer, and what had no room to be asked was not asked. */
function isLoss(error: unknown): boolean {
  return !(error instanceof RpcError) && codeOf(error) !== 'UpstreamBusy';
}

const suspicious: ReadonlySet<string | undefined> = new Set(['UpstreamUnauthorized', 'UpstreamInvalid']);
