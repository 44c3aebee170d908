import * as oauth from 'oauth4webapi';
import { AgentServerError } from '#agent-server/errors.ts';
import type { UpstreamSecrets } from '#api/agent-server-config.ts';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import { insecure, requireSecure, type TokenPlace, unusable } from '../discovery.ts';
import type { Fetch } from '../fetch.ts';
import { refusal } from '../refusal.ts';
import { authenticationOf, type KnownClient } from './registration.ts';

/** What one login gave. Bound to the authorization server that gave it and to the server that it is for. */
export interface TokenSet {
  readonly client: KnownClient;
  readonly resource: string;
  readonly access: string;
  readonly refresh: string | undefined;
  /** That were asked for. */
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch; undefined: nobody said. */
  readonly had: number;
  readonly ends: number | undefined;
}

/** A login that a person was sent away for. */
export interface BegunLogin {
  readonly place: TokenPlace;
  readonly client: KnownClient;
  readonly scopes: readonly string[];
  readonly verifier: string;
  readonly state: string;
  /** Where the person has to go. */
  readonly url: URL;
}

export interface FlowOptions {
  readonly url: URL;
  readonly issuer: string | undefined;
  readonly secrets: () => UpstreamSecrets;
  readonly fetch: Fetch;
  readonly clock: Clock;
}

/** The address of the authorization request: code, PKCE (S256), `state`, `resource` (RFC 8707). */
export async function beginLogin(
  place: TokenPlace,
  client: KnownClient,
  scopes: readonly string[],
  options: FlowOptions,
): Promise<BegunLogin> {
  const { server, resource } = place;
  const { authorization_endpoint: endpoint, code_challenge_methods_supported: challenges } = server;
  const url = endpoint === undefined ? null : URL.parse(endpoint);
  if (url === null) throw unusable(`the authorization server ${server.issuer} has no page to log in at`);
  requireSecure(url, options);
  if (challenges?.includes('S256') !== true)
    throw unusable(`the authorization server ${server.issuer} does not say that it knows PKCE (S256)`);
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const parameters = {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    // OpenID Connect gives nothing that lasts without asking.
    ...(scopes.includes('offline_access') && { prompt: 'consent' }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { place, client, scopes, verifier, state, url };
}

/**
 * Takes what the person came back with. Throws UpstreamUnauthorized when it is not the answer to this login, comes from
 * another authorization server (RFC 9207), or says no.
 */
export async function finishLogin(
  { place, client, scopes, verifier, state }: BegunLogin,
  answer: URLSearchParams,
  options: FlowOptions,
): Promise<TokenSet> {
  const { server, resource } = place;
  const asked = { client_id: client.clientId };
  const parameters = readAnswer(server, asked, answer, state);
  const had = options.clock.now();
  try {
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      asked,
      authenticationOf(server, client, options.secrets()),
      parameters,
      client.redirectUri,
      verifier,
      { ...requestOptions(server, options), additionalParameters: { resource } },
    );
    const said = await oauth.processAuthorizationCodeResponse(server, asked, response);
    return tokenSet(said, { client, resource, scopes, had, refresh: undefined });
  } catch (error) {
    throw error instanceof AgentServerError ? error : refusal(server, error);
  }
}

function readAnswer(
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  answer: URLSearchParams,
  state: string,
): URLSearchParams {
  try {
    return oauth.validateAuthResponse(server, client, answer, state);
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError) {
      const { error: code, error_description: description } = error;
      const words = [code, description].filter((part) => part !== undefined).join(': ');
      throw unusable(`the authorization server ${server.issuer} says no (${words})`);
    }
    throw unusable(`the answer is not the one of ${server.issuer} to this login: ${messageOf(error)}`);
  }
}

/** New tokens for old ones. Throws what `refusal` says; with code UpstreamUnauthorized the refresh token is none any more. */
export async function refreshTokens(
  { server, resource }: TokenPlace,
  old: TokenSet,
  options: FlowOptions,
): Promise<TokenSet> {
  const { client, refresh = '', scopes } = old;
  const asked = { client_id: client.clientId };
  const had = options.clock.now();
  try {
    const response = await oauth.refreshTokenGrantRequest(
      server,
      asked,
      authenticationOf(server, client, options.secrets()),
      refresh,
      { ...requestOptions(server, options), additionalParameters: { resource } },
    );
    const said = await oauth.processRefreshTokenResponse(server, asked, response);
    return tokenSet(said, { client, resource, scopes, had, refresh });
  } catch (error) {
    throw error instanceof AgentServerError ? error : refusal(server, error);
  }
}

/** Tells the authorization server that the tokens are needed no more, where it wants to know (RFC 7009). */
export async function revokeTokens(
  { server }: TokenPlace,
  { client, access, refresh }: TokenSet,
  options: FlowOptions,
): Promise<void> {
  if (server.revocation_endpoint === undefined) return;
  const authentication = authenticationOf(server, client, options.secrets());
  const asked = { client_id: client.clientId };
  const { [oauth.customFetch]: fetch } = requestOptions(server, options);
  const how = { [oauth.customFetch]: fetch, ...insecure(new URL(server.revocation_endpoint), options) };
  const answer = await oauth.revocationRequest(server, asked, authentication, refresh ?? access, how);
  await oauth.processRevocationResponse(answer);
}

function requestOptions(server: oauth.AuthorizationServer, options: FlowOptions) {
  const { fetch, url } = options;
  return { [oauth.customFetch]: fetch, ...insecure(new URL(server.token_endpoint ?? url), options) };
}

function tokenSet(
  { access_token: access, refresh_token: next, expires_in: seconds }: oauth.TokenEndpointResponse,
  { refresh, had, ...rest }: Omit<TokenSet, 'access' | 'ends'>,
): TokenSet {
  return {
    ...rest,
    access,
    refresh: next ?? refresh,
    had,
    ends: seconds === undefined ? undefined : had + seconds * 1_000,
  };
}
