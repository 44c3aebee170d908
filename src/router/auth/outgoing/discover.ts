import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import { OutgoingError } from './errors.ts';
import type { Outgoing } from './fetch.ts';

/** What a provider says of itself (RFC 8414, OpenID Connect Discovery); `issuer` was compared. */
export interface ProviderMetadata {
  readonly issuer: string;
  readonly [name: string]: unknown;
}

export interface Discovery {
  /** Asked at most once an hour for an issuer, and not again within five seconds after it failed. Rejects with OutgoingError. */
  of(issuer: string, ca?: string): Promise<ProviderMetadata>;
}

const maxAgeMs = 3_600_000;
const failureMs = 5_000;
const mostIssuers = 256;

interface Known {
  readonly at: number;
  readonly found: Promise<ProviderMetadata>;
  failed: boolean;
}

export function createDiscovery(outgoing: Outgoing, clock: Clock): Discovery {
  const known = new Map<string, Known>();
  return {
    of(issuer, ca) {
      const key = `${issuer} ${ca ?? ''}`;
      const before = known.get(key);
      if (before !== undefined && clock.monotonic() - before.at < (before.failed ? failureMs : maxAgeMs)) {
        return before.found;
      }
      if (known.size >= mostIssuers) known.clear();
      const entry: Known = { at: clock.monotonic(), found: discover(outgoing, issuer, ca), failed: false };
      entry.found.catch(() => {
        entry.failed = true;
      });
      known.set(key, entry);
      return entry.found;
    },
  };
}

async function discover(
  outgoing: Outgoing,
  issuer: string,
  ca: string | undefined,
): Promise<ProviderMetadata> {
  for (const place of placesOf(issuer)) {
    const answer = await outgoing.fetch(place, { headers: { accept: 'application/json' } }, ca);
    if (answer.status >= 500) {
      throw new OutgoingError('OutgoingUnreachable', `${place} answers ${answer.status}`);
    }
    if (answer.status !== 200) continue;
    const document = parse(await answer.text());
    if (document?.issuer === issuer) return document;
    throw new OutgoingError('OutgoingAnswer', `${place} is about another issuer than ${issuer}`, {
      remedy: 'Write the issuer exactly as the provider does, with or without the slash at its end.',
    });
  }
  throw new OutgoingError('OutgoingAnswer', `${issuer} has no discovery document`);
}

/** In this order: OpenID Connect's, RFC 8414's, and OpenID Connect's as RFC 8414 would place it. */
function placesOf(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const [connect, oauth] = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];
  return [
    ...new Set([`${origin}${path}${connect}`, `${origin}${oauth}${path}`, `${origin}${connect}${path}`]),
  ];
}

function parse(text: string): ProviderMetadata | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && typeof value['issuer'] === 'string' ? (value as ProviderMetadata) : undefined;
  } catch {
    return undefined;
  }
}
