import * as oauth from 'oauth4webapi';
import { messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { AgentServerError } from '../../errors.ts';
import type { Fetch } from './fetch.ts';

/** Where tokens for a remote MCP server come from. */
export interface TokenPlace {
  readonly server: oauth.AuthorizationServer;
  /** What tokens are for (RFC 8707). */
  readonly resource: string;
  /** Scopes that the server's metadata name. */
  readonly scopes: readonly string[];
}

export interface DiscoveryOptions {
  readonly url: URL;
  /** Authorization server that the spec names. */
  readonly issuer: string | undefined;
  /** Address of the metadata, as the server's refusal named it. */
  readonly metadata: string | undefined;
  readonly fetch: Fetch;
}

/**
 * Finds the authorization server by the metadata of the MCP server (RFC 9728), and its own metadata (RFC 8414, OpenID
 * Connect). Throws AgentServerError UpstreamUnauthorized when there is none that can be used.
 */
export async function findTokenPlace(options: DiscoveryOptions): Promise<TokenPlace> {
  const { url, issuer } = options;
  const resource = await findResource(options);
  const named = issuer ?? resource?.authorization_servers?.[0];
  if (named === undefined) {
    throw unusable(
      `${url.host} does not say which authorization server it trusts`,
      'Name it in mcp.upstream.oauth.issuer.',
    );
  }
  return {
    server: await readServer(named, options),
    resource: resource?.resource ?? url.href,
    scopes: resource?.scopes_supported ?? [],
  };
}

/**
 * Undefined: the server publishes nothing, or nothing that can be had, which is no error for one whose authorization
 * server is named.
 */
async function findResource(options: DiscoveryOptions): Promise<oauth.ResourceServer | undefined> {
  const { url, issuer, metadata, fetch } = options;
  const root = new URL('/', url);
  const wellKnown = (of: URL) => () =>
    oauth.resourceDiscoveryRequest(of, { [oauth.customFetch]: fetch, ...insecure(of, options) });
  const places =
    metadata === undefined ? [wellKnown(url), wellKnown(root)] : [() => getMetadata(metadata, options)];
  let problem: unknown;
  for (const ask of places) {
    try {
      const answer = await ask();
      if (answer.status !== 200) continue;
      return await readResource(url, answer);
    } catch (error) {
      const isUnreached = error instanceof AgentServerError && error.code !== 'UpstreamUnauthorized';
      if (isUnreached && issuer === undefined) throw error;
      problem ??= error;
    }
  }
  if (problem === undefined || issuer !== undefined) return undefined;
  throw problem instanceof AgentServerError
    ? problem
    : unusable(`the metadata of ${url.host} cannot be used: ${messageOf(problem)}`);
}

async function getMetadata(address: string, options: DiscoveryOptions): Promise<Response> {
  requireSecure(new URL(address), options);
  return options.fetch(address, { method: 'GET', headers: { accept: 'application/json' } });
}

/** Metadata count only for the server that they are asked of, or for a part of it that it lies in. */
async function readResource(url: URL, answer: Response): Promise<oauth.ResourceServer> {
  const said: unknown = await answer.clone().json();
  const resource =
    isObject(said) && typeof said['resource'] === 'string' ? URL.parse(said['resource']) : null;
  if (resource === null || !covers(resource, url)) {
    throw unusable(
      `the metadata of ${url.host} are of ${resource?.href ?? 'no resource'}, not of ${url.href}`,
    );
  }
  return oauth.processResourceDiscoveryResponse(new URL((said as { resource: string }).resource), answer);
}

function covers(resource: URL, url: URL): boolean {
  const folder = (path: string) => (path.endsWith('/') ? path : `${path}/`);
  return resource.origin === url.origin && folder(url.pathname).startsWith(folder(resource.pathname));
}

/** The authorization server's own metadata, wherever of the three places it keeps them. */
async function readServer(issuer: string, discovery: DiscoveryOptions): Promise<oauth.AuthorizationServer> {
  const url = URL.parse(issuer);
  if (url === null) throw unusable(`"${issuer}" is no authorization server's address`);
  requireSecure(url, discovery);
  const options = { [oauth.customFetch]: discovery.fetch, ...insecure(url, discovery) };
  const inserted = new URL(`/.well-known/openid-configuration${url.pathname.replace(/\/$/, '')}`, url);
  const places = [
    () => oauth.discoveryRequest(url, { ...options, algorithm: 'oauth2' }),
    () => getMetadata(inserted.href, discovery),
    () => oauth.discoveryRequest(url, { ...options, algorithm: 'oidc' }),
  ];
  let problem = 'it publishes no metadata';
  for (const ask of places) {
    try {
      const answer = await ask();
      if (answer.status !== 200) problem = `it answers HTTP ${answer.status}`;
      else return await oauth.processDiscoveryResponse(url, answer);
    } catch (error) {
      if (error instanceof AgentServerError) throw error;
      problem = messageOf(error);
    }
  }
  throw unusable(`the metadata of the authorization server ${issuer} cannot be used: ${problem}`);
}

/** What the spec itself names. */
type Named = Pick<DiscoveryOptions, 'url' | 'issuer'>;

export function requireSecure(url: URL, named: Named): void {
  if (url.protocol === 'https:' || oauth.allowInsecureRequests in insecure(url, named)) return;
  throw unusable(`${url.href} is not https`);
}

/**
 * Only programs of this machine are asked in clear, and only where the spec names one (tests, conformance suites): no
 * server elsewhere leads to one.
 */
export function insecure(of: URL, { url, issuer }: Named): { [oauth.allowInsecureRequests]?: boolean } {
  const isNamed = [url, issuer === undefined ? null : URL.parse(issuer)].some(isHere);
  return isNamed && isHere(of) ? { [oauth.allowInsecureRequests]: true } : {};
}

function isHere(url: URL | null): boolean {
  return url !== null && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
}

export function unusable(problem: string, remedy?: string): AgentServerError {
  return new AgentServerError(
    'UpstreamUnauthorized',
    `No token can be had: ${problem}.${remedy === undefined ? '' : ` ${remedy}`}`,
    remedy === undefined ? {} : { remedy },
  );
}
