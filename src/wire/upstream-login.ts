import type { CallBinding } from './binding.ts';

/** POST, by the router: a person logs in at the remote server that an agent is. */
export const upstreamLoginPath = '/upstream-login';

/** Origin of the router's pages as the caller's browser knows it; the router sends it with calls of people. */
export const loginOriginHeader = 'x-ploinky-login-origin';

/** What the router asks, each for the person of its token. */
export type UpstreamLoginRequest =
  /** How it stands. */
  | { readonly action: 'look' }
  /** Where the person goes to log in; comes back to `redirectUri`. */
  | { readonly action: 'begin'; readonly redirectUri: string; readonly document?: string }
  /** The query that the person came back with. */
  | { readonly action: 'finish'; readonly query: string }
  /** Forgets the tokens. */
  | { readonly action: 'end' };

export interface UpstreamLoginState {
  /** Where people log in, for people to read. */
  readonly host: string;
  readonly isLoggedIn: boolean;
}

export type UpstreamLoginAnswer = UpstreamLoginState & {
  /** Of `begin`. */
  readonly url?: string;
};

export function bindUpstreamLogin(request: object): CallBinding {
  return { tool: '__upstream_login__', arguments: request };
}

/** What a client id metadata document says of agents for which people log in, and what a registration does. */
export function clientMetadata(redirectUri: string) {
  const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(new URL(redirectUri).hostname);
  return {
    client_name: 'Ploinky',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: isLoopback ? 'native' : 'web',
  };
}
