import { type ApiKey, nobody, type Person, readPeople } from '#api/people.ts';
import { usersKey } from '#routing/access.ts';

/** Where the data of Secret `ploinky-auth` comes from: a watch in the product, a variable in tests. */
export interface PeopleSource {
  /** In base64 by key; the same object until it changes. */
  current(): Readonly<Record<string, string>>;
}

export const noPeople: PeopleSource = { current: () => ({}) };

/** The people of one realm of mode pwd. */
export interface Realm {
  byName(username: string): Person | undefined;
  byId(id: string): Person | undefined;
  key(id: string): ApiKey | undefined;
}

/** Who may log in, as the controller copied it. */
export interface PeopleBook {
  /** Undefined while the controller has not copied the realm, or there is none. */
  realm(name: string): Realm | undefined;
  /** What `SsoAccess` names by a key: a client secret, certificates. */
  value(key: string): string | undefined;
}

export function createPeopleBook(source: PeopleSource): PeopleBook {
  const kept = new Map<string, { readonly encoded: string; readonly realm: Realm }>();
  return {
    realm(name) {
      const encoded = source.current()[usersKey(name)];
      if (encoded === undefined) {
        kept.delete(name);
        return undefined;
      }
      const known = kept.get(name);
      if (known?.encoded === encoded) return known.realm;
      const realm = realmOf(decode(encoded));
      kept.set(name, { encoded, realm });
      return realm;
    },
    value(key) {
      const encoded = source.current()[key];
      return encoded === undefined ? undefined : decode(encoded);
    },
  };
}

function decode(encoded: string): string {
  return Buffer.from(encoded, 'base64').toString('utf8');
}

function realmOf(text: string): Realm {
  const read = readPeople(text);
  const { users, keys } = 'people' in read ? read.people : nobody;
  const byName = new Map(users.map((user) => [user.username, user]));
  const byId = new Map(users.map((user) => [user.id, user]));
  const byKey = new Map(keys.map((key) => [key.id, key]));
  return {
    byName: (username) => byName.get(username),
    byId: (id) => byId.get(id),
    key: (id) => byKey.get(id),
  };
}
