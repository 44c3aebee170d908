import type { SsoAccess } from '#routing/access.ts';
import type { WireUser } from '#wire/claims.ts';
import type { Services } from '../../services.ts';
import type { Login } from '../sessions.ts';
import type { Providers } from './provider.ts';

/** An Access of mode sso. */
export interface SsoRealm {
  readonly realm: string;
  readonly sso: SsoAccess;
}

/** Somebody whom a provider vouches for. */
export interface SsoLogin {
  readonly user: WireUser;
  readonly claims: Readonly<Record<string, unknown>>;
  /** `Set-Cookie` values that go with the session's own. */
  readonly cookies: readonly string[];
  /** The login that this goes on with. Absent: somebody logged in. */
  readonly before?: Login;
  /** `Set-Cookie` value with what the session needs to go on; it ends with the session. */
  keep(session: Login): string;
}

/** What every step of a login needs. */
export interface Flow extends Pick<Services, 'keys' | 'clock' | 'auth' | 'log'> {
  readonly providers: Providers;
  /** Whether a session ended before its time. */
  hasEnded(session: Login & { readonly realm: string; readonly user: string }): boolean;
}

export const callbackPath = '/auth/callback';

export function isSecure(url: string): boolean {
  return url.startsWith('https:');
}
