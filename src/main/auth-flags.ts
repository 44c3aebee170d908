import { CodedError } from '#kit/errors.ts';
import { trustList } from '#router/auth/client-address.ts';
import { type AuthSettings, defaultAuthSettings } from '#router/auth/settings.ts';
import { parseWhole, splitList } from './options.ts';
import { resolveByMachine } from './resolve.ts';

/** What both routers take about logging in; `readAuthFlags` says what each means. */
export const authFlags = {
  'public-url': '',
  'trust-proxy': '',
  'issuer-hosts': '',
  'session-hours': String(defaultAuthSettings.sessionMaxMs / 3_600_000),
};

/**
 * `--public-url https://host[:port]`: where browsers see the router; with https its cookies are Secure. `--trust-proxy
 * ADDRESSES`: proxies whose X-Forwarded-For counts. `--session-hours N`: nobody stays logged in longer. `--issuer-hosts
 * HOSTS`: identity providers that may have private addresses, with `http://` before it also without TLS; `loopback`: those
 * on this machine may be asked. Throws Usage.
 */
export function readAuthFlags(
  flags: Readonly<Record<keyof typeof authFlags, string>> & { readonly 'allow-origin': string },
  { loopback }: { readonly loopback: boolean },
): Partial<AuthSettings> {
  const trustedProxies = splitList(flags['trust-proxy']);
  try {
    trustList(trustedProxies);
  } catch {
    throw usage(`--trust-proxy ${flags['trust-proxy']}`, 'Give addresses and ranges: 10.0.0.0/8,192.0.2.1.');
  }
  return {
    publicOrigin: publicOrigin(flags['public-url']),
    allowedOrigins: splitList(flags['allow-origin']),
    trustedProxies,
    providers: { loopback, hosts: issuerHosts(flags['issuer-hosts']), resolve: resolveByMachine },
    sessionMaxMs: parseWhole('session-hours', flags['session-hours'], 1, 8_760) * 3_600_000,
  };
}

function issuerHosts(text: string): readonly string[] {
  const hosts = splitList(text);
  const wrong = hosts.find(
    (host) => !/^(https?:\/\/)?([A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?$/.test(host),
  );
  if (wrong === undefined) return hosts;
  throw usage(`--issuer-hosts ${wrong}`, 'Give hosts: id.example.org,http://keycloak.identity.svc:8080.');
}

/** The host of `--public-url`, which the router answers for. */
export function publicHosts(url: string): string[] {
  const origin = publicOrigin(url);
  return origin === undefined ? [] : [new URL(origin).hostname];
}

function publicOrigin(url: string): string | undefined {
  if (url === '') return undefined;
  if (!/^https?:\/\/[^/?#@]+\/?$/.test(url) || !URL.canParse(url))
    throw usage(`--public-url ${url}`, 'Give an origin without path: https://agents.example.org.');
  return new URL(url).origin;
}

function usage(message: string, remedy: string): CodedError {
  return new CodedError('Usage', message, { remedy });
}
