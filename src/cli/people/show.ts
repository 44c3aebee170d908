import type { ApiKey, People, Person } from '#api/people.ts';
import { isLegacyHash } from '#kit/password.ts';
import { formatData, type OutputFormat } from '../output.ts';
import { formatTable } from '../table.ts';

/** Without hashes: neither people nor scripts have a use for them. */
export function formatUsers({ users }: People, format: OutputFormat): string {
  const shown = users.map(({ passwordHash, ...rest }) => ({ ...rest, password: strengthOf(passwordHash) }));
  const data = formatData(shown, format);
  if (data !== undefined) return data;
  if (format === 'name') return users.map(({ username }) => username).join('\n');
  const wide = format === 'wide';
  const heads = ['USER', 'ROLES', 'STATE', ...(wide ? ['ID', 'NAME', 'E-MAIL', 'PASSWORD'] : [])];
  const rows = users.map((user) => [
    ...[user.username, user.roles.join(',') || '-', stateOf(user)],
    ...(wide ? [user.id, user.name || '-', user.email || '-', strengthOf(user.passwordHash)] : []),
  ]);
  return users.length === 0 ? 'No users.' : formatTable(heads, rows);
}

export function formatKeys({ keys, users }: People, format: OutputFormat, now: number): string {
  const names = new Map(users.map(({ id, username }) => [id, username]));
  const shown = keys.map(({ hash: _, user, ...rest }) => ({ ...rest, user: names.get(user) ?? user }));
  const data = formatData(shown, format);
  if (data !== undefined) return data;
  if (format === 'name') return keys.map(({ id }) => id).join('\n');
  const wide = format === 'wide';
  const heads = ['ID', 'NAME', 'USER', 'EXPIRES', ...(wide ? ['ROLES', 'SCOPES', 'CREATED'] : [])];
  const rows = shown.map(({ id, name, user, expires, roles, scopes, created }) => [
    ...[id, name, user, expiryOf(expires, now)],
    ...(wide ? [roles?.join(',') ?? 'all of the user', scopes?.join(',') ?? 'any', created] : []),
  ]);
  return keys.length === 0 ? 'No keys.' : formatTable(heads, rows);
}

function stateOf({ disabled }: Person): string {
  return disabled === true ? 'disabled' : 'active';
}

function strengthOf(hash: string): string {
  return isLegacyHash(hash) ? 'legacy' : 'scrypt';
}

function expiryOf(expires: ApiKey['expires'], now: number): string {
  if (expires === undefined) return 'never';
  return Date.parse(expires) <= now ? `expired ${expires}` : expires;
}
