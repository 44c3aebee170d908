import type { IncomingMessage } from 'node:http';
import * as openid from 'openid-client';
import type { SsoAccess } from '#routing/access.ts';
import { claimAt, userOf } from '../bearer/user.ts';
import { keptOf } from './claims.ts';
import {
  clearCookie,
  type Kept,
  keptCookie,
  keptName,
  type Pending,
  pendingName,
  readKept,
  readPending,
} from './cookies.ts';
import { refusalOf, ssoRefused } from './failures.ts';
import { type Flow, isSecure, type SsoLogin, type SsoRealm } from './flow.ts';

/** The login that a browser comes back from the provider with. Throws AuthRefused when none was begun in it. */
export function pendingLogin(
  { keys, clock, auth }: Flow,
  request: IncomingMessage,
  query: URLSearchParams,
): Pending {
  const secure = isSecure(auth.publicOrigin ?? '');
  const found = readPending(keys, request, query.get('state') ?? '', { now: clock.now(), secure });
  if (found === undefined) throw ssoRefused('login_expired');
  return found;
}

export async function finishLogin(
  flow: Flow,
  request: IncomingMessage,
  { realm, sso }: SsoRealm,
  query: URLSearchParams,
): Promise<SsoLogin> {
  const pending = pendingLogin(flow, request, query);
  if (pending.realm !== realm) throw ssoRefused('login_expired');
  const configuration = await flow.providers(sso);
  const back = new URL(`${pending.redirectUri}?${query}`);
  const tokens = await openid.authorizationCodeGrant(configuration, back, {
    expectedState: pending.state,
    expectedNonce: pending.nonce,
    pkceCodeVerifier: pending.verifier,
    idTokenExpected: true,
  });
  const secure = isSecure(pending.redirectUri);
  const login = await loginOf(configuration, sso, tokens);
  const cookies = [clearCookie(pendingName(pending.state, secure), secure)];
  return { ...login, cookies, keep: keeper(flow, realm, login, tokens, secure) };
}

/**
 * A login that goes on without the person, by the refresh token that was kept; undefined where there is none, or it is
 * good no more: then the person logs in again.
 */
export async function renewLogin(
  flow: Flow,
  request: IncomingMessage,
  { realm, sso }: SsoRealm,
  origin: string,
): Promise<SsoLogin | undefined> {
  const kept = readKept(flow.keys, request, realm);
  if (kept?.refreshToken === undefined || !goesOn(flow, kept, sso)) return undefined;
  const configuration = await flow.providers(sso);
  const tokens = await openid
    .refreshTokenGrant(configuration, kept.refreshToken)
    .catch((error: unknown) => notRenewed(flow, error));
  if (tokens === undefined) return undefined;
  const login = await loginOf(configuration, sso, tokens, kept.subject);
  const next = { ...tokens, refresh_token: tokens.refresh_token ?? kept.refreshToken };
  const keep = keeper(flow, realm, login, next, isSecure(origin), kept);
  return { ...login, cookies: [], before: { sid: kept.sid, begun: kept.begun, until: kept.until }, keep };
}

/** What the person ended, here or everywhere, no refresh token brings back, and none makes it longer. */
function goesOn({ clock, hasEnded }: Flow, kept: Kept, { issuer }: SsoAccess): boolean {
  const user = userOf(issuer, { sub: kept.subject }, undefined).id;
  return kept.until > clock.now() && !hasEnded({ ...kept, user });
}

function notRenewed({ log }: Flow, error: unknown): undefined {
  const refused = refusalOf(error);
  if (refused.details.status === 503) throw refused;
  log.debug('a login was not renewed', { error: refused.code });
}

function keeper(
  { keys, clock }: Flow,
  realm: string,
  { subject }: Vouched,
  tokens: { readonly refresh_token?: string; readonly id_token?: string },
  secure: boolean,
  before?: Kept,
): SsoLogin['keep'] {
  const refreshToken = tokens.refresh_token;
  const idToken = tokens.id_token ?? before?.idToken;
  return ({ sid, begun, until }) => {
    const login = { realm, subject, sid, begun, until };
    const kept = { ...login, ...(refreshToken && { refreshToken }), ...(idToken && { idToken }) };
    const maxAge = until - clock.now();
    return keptCookie(keys, kept, maxAge, secure) ?? clearCookie(keptName(realm), secure);
  };
}

type Vouched = Pick<SsoLogin, 'user' | 'claims'> & { readonly subject: string };
type Tokens = Awaited<ReturnType<typeof openid.refreshTokenGrant>>;

/**
 * Whom the tokens are about. Claims that rules need and the id token lacks are asked for at the provider (UserInfo).
 * `expected`: the subject that it must be.
 */
async function loginOf(
  configuration: openid.Configuration,
  sso: SsoAccess,
  tokens: Tokens,
  expected?: string,
): Promise<Vouched> {
  const stated = tokens.claims();
  const subject = stated?.sub ?? expected;
  if (subject === undefined || (expected !== undefined && subject !== expected)) {
    throw ssoRefused('login_failed');
  }
  const lacks = stated === undefined || claimAt(stated, sso.rolesClaim ?? 'roles') === undefined;
  const isAsked = lacks && configuration.serverMetadata().userinfo_endpoint !== undefined;
  const info = isAsked ? await openid.fetchUserInfo(configuration, tokens.access_token, subject) : {};
  const claims = { ...info, ...stated, sub: subject };
  return { ...keptOf(userOf(sso.issuer, claims, sso), claims), subject };
}
