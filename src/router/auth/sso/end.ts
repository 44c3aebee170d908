import type { IncomingMessage } from 'node:http';
import * as openid from 'openid-client';
import { type Kept, readKept } from './cookies.ts';
import { refusalOf } from './failures.ts';
import type { Flow, SsoRealm } from './flow.ts';

/** Where the browser goes to end its login at the provider too, where the provider has such a place. */
export async function endLogin(
  { keys, providers }: Flow,
  request: IncomingMessage,
  { realm, sso }: SsoRealm,
  { origin, afterwards }: { readonly origin: string; readonly afterwards: string },
): Promise<string | undefined> {
  const kept = readKept(keys, request, realm);
  const configuration = await providers(sso);
  if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
  const location = openid.buildEndSessionUrl(configuration, {
    post_logout_redirect_uri: `${origin}${afterwards}`,
    ...(kept?.idToken !== undefined && { id_token_hint: kept.idToken }),
  });
  return location.href;
}

/** Tells the provider that a refresh token is not needed any more. The session here ends whether it hears of it or not. */
export async function revokeLogin(
  { providers, log }: Flow,
  { sso }: SsoRealm,
  { refreshToken }: Pick<Kept, 'refreshToken'>,
): Promise<void> {
  if (refreshToken === undefined) return;
  try {
    const configuration = await providers(sso);
    if (configuration.serverMetadata().revocation_endpoint === undefined) return;
    await openid.tokenRevocation(configuration, refreshToken);
  } catch (error) {
    log.warn('a refresh token was not revoked', { issuer: sso.issuer, error: refusalOf(error).code });
  }
}
