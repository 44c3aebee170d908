import { createHash, timingSafeEqual } from 'node:crypto';
import type { ApiKey, Person } from '#api/people.ts';
import type { Clock } from '#kit/clock.ts';
import { type Authenticator, AuthRefused, type Identity } from './authenticator.ts';
import type { PeopleBook } from './people.ts';

/** `plk_<id>_<secret>`: what scripts send as `Authorization: Bearer`. The secret is 32 bytes in base64url. */
const form = /^Bearer plk_([A-Za-z0-9]{4,32})_([A-Za-z0-9_-]{43})$/i;

/** Whatever says that it is a key. */
const claimed = /^Bearer +plk_/i;

/**
 * Keys of the people of a realm of mode pwd: a key is one of them, with at most their roles. What says that it is a key and is
 * none there is a bad credential at all that asks who calls, also where there are no keys: nobody takes it for none.
 */
export function createKeyAuthenticator(people: PeopleBook, clock: Clock): Authenticator {
  const identities = new WeakMap<ApiKey, { readonly person: Person; readonly identity: Identity }>();

  function identityOf(key: ApiKey, person: Person, realm: string): Identity {
    const known = identities.get(key);
    if (known?.person === person) return known.identity;
    const { id, username, email } = person;
    const roles =
      key.roles === undefined ? person.roles : key.roles.filter((role) => person.roles.includes(role));
    const { scopes } = key;
    const expires = key.expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(key.expires);
    const user = { sub: id, id, username, email, roles };
    const identity: Identity = { user, proof: 'key', realm, expires, ...(scopes && { scopes }) };
    identities.set(key, { person, identity });
    return identity;
  }

  return {
    identify({ headers: { authorization } }, { mode, realm }) {
      if (authorization === undefined || !claimed.test(authorization)) return undefined;
      const [, id = '', secret = ''] = form.exec(authorization) ?? [];
      if (mode !== 'pwd' || id === '') throw wrong;
      const found = people.realm(realm);
      const key = found?.key(id);
      const person = key && found?.byId(key.user);
      if (key === undefined || person === undefined || person.disabled === true || !isSecretOf(key, secret))
        throw wrong;
      const identity = identityOf(key, person, realm);
      if (identity.expires <= clock.now()) throw expired;
      return identity;
    },
  };
}

function isSecretOf({ hash }: ApiKey, secret: string): boolean {
  const shown = createHash('sha256').update(Buffer.from(secret, 'base64url')).digest();
  return timingSafeEqual(shown, Buffer.from(hash, 'hex'));
}

const wrong = new AuthRefused({
  status: 401,
  code: 'invalid_token',
  description: 'the API key is not known here, or revoked; ploinky key list shows those there are',
});
const expired = new AuthRefused({
  status: 401,
  code: 'invalid_token',
  description: 'the API key has expired',
});
