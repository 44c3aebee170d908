import type { OutgoingRules } from './outgoing/rules.ts';

/** What an operator says about how people log in. */
export interface AuthSettings {
  /** `https://host[:port]` where browsers see the router; undefined: as the Host header says, over http. */
  readonly publicOrigin: string | undefined;
  /** Other origins whose pages may act for who is logged in. */
  readonly allowedOrigins: readonly string[];
  /** Addresses or ranges of proxies whose `X-Forwarded-For` says who the client is. */
  readonly trustedProxies: readonly string[];
  /** A session ends after this long without a request, in milliseconds. */
  readonly sessionIdleMs: number;
  /** And after this long in any case. */
  readonly sessionMaxMs: number;
  readonly guestMs: number;
  /** Which identity providers are asked, and where their names lead. */
  readonly providers: OutgoingRules & {
    /** Every address of a name. */
    resolve(name: string): Promise<readonly string[]>;
  };
}

export const defaultAuthSettings: AuthSettings = {
  publicOrigin: undefined,
  allowedOrigins: [],
  trustedProxies: [],
  sessionIdleMs: 4 * 3_600_000,
  sessionMaxMs: 7 * 24 * 3_600_000,
  guestMs: 3_600_000,
  providers: { loopback: false, hosts: [], resolve: () => Promise.resolve([]) },
};
