import type { SsoAccess } from '#routing/access.ts';
import type { WireUser } from '#wire/claims.ts';
import type { Services } from '../../services.ts';
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
}

/** What every step of a login needs. */
export interface Flow extends Pick<Services, 'keys' | 'clock' | 'auth' | 'log'> {
  readonly providers: Providers;
}

export const callbackPath = '/auth/callback';

export function isSecure(url: string): boolean {
  return url.startsWith('https:');
}
