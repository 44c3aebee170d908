import { isObject } from '#kit/json.ts';

/** Type and data key of a Secret with the people of a realm. */
export const usersSecretType = 'ploinky.dev/users';
export const usersDataKey = 'users';
/** A Secret may not be larger than 1 MiB; all realms are copied into one. */
export const mostPeopleBytes = 524_288;
export const longestName = 255;

/** Somebody who logs in with a password. */
export interface Person {
  /** Never used again for somebody else; tokens and sessions name it. */
  readonly id: string;
  readonly username: string;
  readonly name: string;
  readonly email: string;
  readonly roles: readonly string[];
  /** `scrypt:<n>,<r>,<p>:<salt>:<hash>`; `scrypt:<salt>:<hash>` and `sha256:<hash>` of earlier versions count. */
  readonly passwordHash: string;
  /** Another number ends every session of theirs. */
  readonly rev: number;
  readonly disabled?: boolean;
}

/** What a script shows in place of a password: `plk_<id>_<secret>`. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  /** Id of the person it stands for. */
  readonly user: string;
  /** SHA-256 of the secret's 32 bytes, in hex. */
  readonly hash: string;
  /** Those of its user's roles that it has; absent: all. */
  readonly roles?: readonly string[];
  /** Absent: not limited. */
  readonly scopes?: readonly string[];
  /** RFC 3339. */
  readonly created: string;
  readonly expires?: string;
}

export interface People {
  readonly version: 1;
  readonly users: readonly Person[];
  readonly keys: readonly ApiKey[];
}

export const nobody: People = { version: 1, users: [], keys: [] };

export type ReadPeople = { readonly people: People } | { readonly problem: string };

/** The people that the text of a users Secret names, or what is wrong with it, as part of a sentence. */
export function readPeople(text: string): ReadPeople {
  if (Buffer.byteLength(text) > mostPeopleBytes)
    return { problem: `is larger than ${mostPeopleBytes} bytes` };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: 'is no JSON' };
  }
  if (!isObject(value) || value['version'] !== 1) return { problem: 'has no "version": 1' };
  const { users, keys = [] } = value;
  if (!Array.isArray(users)) return { problem: 'has no list "users"' };
  if (!Array.isArray(keys)) return { problem: '"keys" is no list' };
  const wrong =
    firstProblem('users', users, isPerson) ?? firstProblem('keys', keys, isKey) ?? repeated(users, keys);
  if (wrong !== undefined) return { problem: wrong };
  return { people: { version: 1, users: users as Person[], keys: keys as ApiKey[] } };
}

function firstProblem(list: string, items: readonly unknown[], isOne: (item: unknown) => boolean) {
  const at = items.findIndex((item) => !isOne(item));
  return at < 0 ? undefined : `${list}[${at}] lacks a field, or one has a value that it cannot have`;
}

function repeated(users: readonly Person[], keys: readonly ApiKey[]): string | undefined {
  const names = new Set(users.map(({ username }) => username));
  const ids = new Set(users.map(({ id }) => id));
  if (names.size < users.length || ids.size < users.length) return 'has two users of one name or id';
  return new Set(keys.map(({ id }) => id)).size < keys.length ? 'has two keys of one id' : undefined;
}

function isPerson(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { roles, rev, disabled } = value;
  const texts = ['id', 'username', 'name', 'email', 'passwordHash'].every((name) => isText(value[name]));
  const isNamed = value['id'] !== '' && value['username'] !== '';
  return texts && isNamed && areTexts(roles) && Number.isSafeInteger(rev) && isFlag(disabled);
}

function isKey(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { id, hash, roles, scopes, created, expires } = value;
  return (
    ['name', 'user'].every((name) => isText(value[name])) &&
    typeof id === 'string' &&
    /^[A-Za-z0-9]{4,32}$/.test(id) &&
    typeof hash === 'string' &&
    /^[0-9a-f]{64}$/.test(hash) &&
    (roles === undefined || areTexts(roles)) &&
    (scopes === undefined || areTexts(scopes)) &&
    isTime(created) &&
    (expires === undefined || isTime(expires))
  );
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 1024;
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.length <= 256 && value.every(isText);
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean';
}
