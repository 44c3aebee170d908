import { isObject } from '#kit/json.ts';
import type { SsoAccess } from '#routing/access.ts';
import type { WireUser } from '#wire/claims.ts';

type Claims = Readonly<Record<string, unknown>>;

/**
 * A person as an issuer knows them. The id has the issuer in it: two issuers may know different people by one name.
 * `mapping` says which roles the claims give; without one a token gives none.
 */
export function userOf(
  issuer: string,
  claims: Claims,
  mapping: Pick<SsoAccess, 'rolesClaim' | 'roles'> | undefined,
): WireUser {
  const subject = text(claims['sub']);
  const id = `${issuer}#${subject}`;
  const email = claims['email_verified'] === false ? '' : text(claims['email']);
  const username = text(claims['preferred_username']) || email || subject;
  return { sub: id, id, email, username, roles: mapping === undefined ? [] : rolesOf(claims, mapping) };
}

/** No person has more roles than these; the rest is left out. */
const mostRoles = 256;

/** Roles that a claim gives; a list, or a text with a role between each two spaces. */
export function rolesOf(
  claims: Claims,
  { rolesClaim = 'roles', roles }: Pick<SsoAccess, 'rolesClaim' | 'roles'>,
): readonly string[] {
  const value = claimAt(claims, rolesClaim);
  const values = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [];
  const given = values.filter((item): item is string => typeof item === 'string' && item !== '');
  const mapped =
    roles === undefined
      ? given
      : roles.filter((entry) => given.includes(entry.value)).map(({ role }) => role);
  return [...new Set(mapped)].slice(0, mostRoles);
}

/** A claim of that very name, or the one that "." leads to. */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name
    .split('.')
    .reduce<unknown>(
      (value, part) => (isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined),
      claims,
    );
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
