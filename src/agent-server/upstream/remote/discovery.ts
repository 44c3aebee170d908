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
  const { url, issuer, fetch } = options;
  const resource = await findResource(options);
  const named = issuer ?? resource?.authorization_servers?.[0];
  if (named === undefined) {
    throw unusable(
      `${url.host} does not say which authorization server it trusts`,
      'Name it in mcp.upstream.oauth.issuer.',
    );
  }
  return {
    server: await readServer(named, fetch),
    resource: resource?.resource ?? url.href,
    scopes: resource?.scopes_supported ?? [],
  };
}

/** Undefined: the server publishes nothing, which is no error for one whose authorization server is named. */
async function findResource({
  url,
  issuer,
  metadata,
  fetch,
}: DiscoveryOptions): Promise<oauth.ResourceServer | undefined> {
  const root = new URL('/', url);
  const wellKnown = (of: URL) => () =>
    oauth.resourceDiscoveryRequest(of, { [oauth.customFetch]: fetch, ...insecure(of) });
  const places =
    metadata === undefined ? [wellKnown(url), wellKnown(root)] : [() => getMetadata(metadata, fetch)];
  let problem: unknown;
  for (const ask of places) {
    try {
      const answer = await ask();
      if (answer.status !== 200) continue;
      return await readResource(url, answer);
    } catch (error) {
      if (error instanceof AgentServerError && error.code !== 'UpstreamUnauthorized') throw error;
      problem ??= error;
    }
  }
  if (problem === undefined || issuer !== undefined) return undefined;
  throw problem instanceof AgentServerError
    ? problem
    : unusable(`the metadata of ${url.host} cannot be used: ${messageOf(problem)}`);
}

async function getMetadata(address: string, fetch: Fetch): Promise<Response> {
  requireSecure(new URL(address));
  return fetch(address, { method: 'GET', headers: { accept: 'application/json' } });
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
async function readServer(issuer: string, fetch: Fetch): Promise<oauth.AuthorizationServer> {
  const url = URL.parse(issuer);
  if (url === null) throw unusable(`"${issuer}" is no authorization server's address`);
  requireSecure(url);
  const options = { [oauth.customFetch]: fetch, ...insecure(url) };
  const inserted = new URL(`/.well-known/openid-configuration${url.pathname.replace(/\/$/, '')}`, url);
  const places = [
    () => oauth.discoveryRequest(url, { ...options, algorithm: 'oauth2' }),
    () => getMetadata(inserted.href, fetch),
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

function requireSecure(url: URL): void {
  if (url.protocol === 'https:' || oauth.allowInsecureRequests in insecure(url)) return;
  throw unusable(`${url.href} is not https`);
}

/** Only programs of this machine are asked in clear: tests and conformance suites. */
export function insecure({ hostname }: URL): { [oauth.allowInsecureRequests]?: boolean } {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
    ? { [oauth.allowInsecureRequests]: true }
    : {};
}

export function unusable(problem: string, remedy?: string): AgentServerError {
  return new AgentServerError(
    'UpstreamUnauthorized',
    `No token can be had: ${problem}.${remedy === undefined ? '' : ` ${remedy}`}`,
    remedy === undefined ? {} : { remedy },
  );
}
