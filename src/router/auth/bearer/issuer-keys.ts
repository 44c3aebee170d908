import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTHeaderParameters } from 'jose';
import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import type { Discovery } from '../outgoing/discover.ts';
import { OutgoingError } from '../outgoing/errors.ts';
import type { Outgoing } from '../outgoing/fetch.ts';

type FindKey = ReturnType<typeof createLocalJWKSet>;
type Jws = Parameters<FindKey>[1];

/** The public keys of issuers. */
export interface IssuerKeys {
  /** The key of a token's header. Rejects with OutgoingError, or with jose's error for a key that is not there. */
  find(issuer: string, header: JWTHeaderParameters, token: Jws): ReturnType<FindKey>;
}

/** Keys are asked for again after this long, … */
const maxAgeMs = 600_000;
/** … when they cannot be, those from before count for this long, … */
const staleMs = 3_600_000;
/** … and a key that is not among them lets us ask again only this long after the last time. */
const pauseMs = 30_000;
const failureMs = 5_000;
const mostKeys = 64;
const mostIssuers = 256;

interface Entry {
  find: FindKey | undefined;
  /** When `find` was made, and when the issuer was asked last. */
  made: number;
  asked: number;
  loading: Promise<FindKey> | undefined;
  failure: unknown;
}

export function createIssuerKeys(outgoing: Outgoing, discovery: Discovery, clock: Clock): IssuerKeys {
  const entries = new Map<string, Entry>();

  function entryOf(issuer: string): Entry {
    const known = entries.get(issuer);
    if (known !== undefined) return known;
    if (entries.size >= mostIssuers) entries.clear();
    const entry: Entry = { find: undefined, made: 0, asked: 0, loading: undefined, failure: undefined };
    entries.set(issuer, entry);
    return entry;
  }

  /** All that ask meanwhile share one request. */
  function load(issuer: string, entry: Entry): Promise<FindKey> {
    entry.asked = clock.monotonic();
    entry.loading ??= fetchKeys(outgoing, discovery, issuer)
      .then(
        (find) => {
          Object.assign(entry, { find, made: clock.monotonic(), failure: undefined });
          return find;
        },
        (error: unknown) => {
          entry.failure = error;
          throw error;
        },
      )
      .finally(() => {
        entry.loading = undefined;
      });
    return entry.loading;
  }

  async function current(issuer: string, entry: Entry): Promise<FindKey> {
    const now = clock.monotonic();
    const age = entry.find === undefined ? Number.POSITIVE_INFINITY : now - entry.made;
    if (entry.find !== undefined && age < maxAgeMs) return entry.find;
    const failedNow = entry.failure !== undefined && now - entry.asked < failureMs;
    if (failedNow && age >= staleMs) throw entry.failure;
    if (failedNow && entry.find !== undefined) return entry.find;
    try {
      return await load(issuer, entry);
    } catch (error) {
      if (entry.find !== undefined && age < staleMs) return entry.find;
      throw error;
    }
  }

  return {
    async find(issuer, header, token) {
      const entry = entryOf(issuer);
      const find = await current(issuer, entry);
      try {
        return await find(header, token);
      } catch (error) {
        const isUnknown = error instanceof errors.JWKSNoMatchingKey;
        if (!isUnknown || clock.monotonic() - entry.asked < pauseMs) throw error;
        return (await load(issuer, entry))(header, token);
      }
    },
  };
}

async function fetchKeys(outgoing: Outgoing, discovery: Discovery, issuer: string): Promise<FindKey> {
  const { jwks_uri: place } = await discovery.of(issuer);
  if (typeof place !== 'string') throw new OutgoingError('OutgoingAnswer', `${issuer} names no jwks_uri`);
  const answer = await outgoing.fetch(place, { headers: { accept: 'application/json' } });
  if (answer.status !== 200) {
    throw new OutgoingError('OutgoingUnreachable', `the keys of ${issuer} answer ${answer.status}`);
  }
  return createLocalJWKSet({ keys: keysOf(await answer.text(), issuer) });
}

function keysOf(text: string, issuer: string): JSONWebKeySet['keys'] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new OutgoingError('OutgoingAnswer', `the keys of ${issuer} are no JSON`, { cause: error });
  }
  const keys: unknown = isObject(value) ? value['keys'] : undefined;
  if (!Array.isArray(keys) || keys.length > mostKeys) {
    throw new OutgoingError('OutgoingAnswer', `the keys of ${issuer} are no list of at most ${mostKeys}`);
  }
  // Shared secrets have no place among published keys.
  return keys.filter((key) => isObject(key) && key['kty'] !== 'oct') as unknown as JSONWebKeySet['keys'];
}
