import type { ApiKey, Person } from '#api/people.ts';
import { usersKey } from '#routing/access.ts';

/** Builders for tests; nothing in the product imports them. */

/** Of "correct horse": made once, since each takes its time. */
export const passwordHash =
  'scrypt:32768,8,1:AAECAwQFBgcICQoLDA0ODw:XGYmKKxOsQaKKH4qoqICriSOmNsE1h0zJ-c0LbbscJc';

export function personNamed(username: string, change: Partial<Person> = {}): Person {
  const more = { name: '', email: '', roles: [], passwordHash, rev: 1 };
  return { id: `local:${username}`, username, ...more, ...change };
}

/** The data of Secret `ploinky-auth` with one realm, which tests change. */
export function editablePeople(realm: string, users: readonly Person[], keys: readonly ApiKey[] = []) {
  let data: Record<string, string> = {};
  const set = (now: readonly Person[], nowKeys: readonly ApiKey[] = []) => {
    const text = JSON.stringify({ version: 1, users: now, keys: nowKeys });
    data = { [usersKey(realm)]: Buffer.from(text).toString('base64') };
  };
  set(users, keys);
  return { current: () => data, set };
}
