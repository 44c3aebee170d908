import type { IncomingMessage } from 'node:http';
import * as openid from 'openid-client';
import { digestOf } from '#kit/digest.ts';
import { clearCookie, type Pending, pendingCookie, pendingMs, pendingNames } from './cookies.ts';
import { callbackPath, type Flow, isSecure, type SsoRealm } from './flow.ts';

const mostPending = 4;

/** Where the browser goes to log in, and what it must bring back. `origin` is the router's, as the browser sees it. */
export async function beginLogin(
  { keys, clock, providers }: Flow,
  request: IncomingMessage,
  { realm, sso }: SsoRealm,
  { origin, returnTo }: { readonly origin: string; readonly returnTo: string },
): Promise<{ readonly location: string; readonly cookies: readonly string[] }> {
  const configuration = await providers(sso);
  const pending: Pending = {
    realm,
    access: digestOf(sso),
    state: openid.randomState(),
    nonce: openid.randomNonce(),
    verifier: openid.randomPKCECodeVerifier(),
    redirectUri: `${origin}${callbackPath}`,
    returnTo,
    expires: clock.now() + pendingMs,
  };
  const scopes = new Set(['openid', ...(sso.scopes ?? ['profile', 'email'])]);
  const location = openid.buildAuthorizationUrl(configuration, {
    redirect_uri: pending.redirectUri,
    scope: [...scopes].join(' '),
    code_challenge: await openid.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
    state: pending.state,
    nonce: pending.nonce,
    // OpenID Connect Core, section 11: without it no refresh token is given.
    ...(scopes.has('offline_access') && { prompt: 'consent' }),
  });
  const secure = isSecure(origin);
  const before = pendingNames(request);
  const forgotten = before.length < mostPending ? [] : before.map((name) => clearCookie(name, secure));
  return { location: location.href, cookies: [...forgotten, pendingCookie(keys, pending, secure)] };
}
