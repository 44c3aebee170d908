import type { IncomingMessage } from 'node:http';
import * as openid from 'openid-client';
import { clearCookie, keptName, readKept } from './cookies.ts';
import { refusalOf } from './failures.ts';
import { type Flow, isSecure, type SsoRealm } from './flow.ts';

/** Where the browser goes to end its login at the provider too, where the provider has such a place; and what to forget. */
export async function endLogin(
  { keys, providers, log }: Flow,
  request: IncomingMessage,
  { realm, sso }: SsoRealm,
  { origin, afterwards }: { readonly origin: string; readonly afterwards: string },
): Promise<{ readonly location: string | undefined; readonly cookies: readonly string[] }> {
  const cookies = [clearCookie(keptName(realm), isSecure(origin))];
  const kept = readKept(keys, request, realm);
  const configuration = await providers(sso);
  const metadata = configuration.serverMetadata();
  if (kept?.refreshToken !== undefined && metadata.revocation_endpoint !== undefined) {
    // The session here ends whether the provider hears of it or not.
    openid.tokenRevocation(configuration, kept.refreshToken).catch((error: unknown) => {
      log.warn('a refresh token was not revoked', { issuer: sso.issuer, error: refusalOf(error).code });
    });
  }
  if (metadata.end_session_endpoint === undefined) return { location: undefined, cookies };
  const location = openid.buildEndSessionUrl(configuration, {
    post_logout_redirect_uri: `${origin}${afterwards}`,
    ...(kept?.idToken !== undefined && { id_token_hint: kept.idToken }),
  });
  return { location: location.href, cookies };
}
