import type { WireUser } from '#wire/claims.ts';

type Claims = Readonly<Record<string, unknown>>;

/** What the protocol itself needs, and says nothing of the person. */
const protocol = new Set([
  ...['iss', 'aud', 'exp', 'iat', 'nbf', 'nonce', 'jti', 'azp', 'auth_time', 'sid'],
  ...['at_hash', 'c_hash', 's_hash', 'rt_hash'],
]);
/** Bytes of JSON. A session travels with every request, in a cookie that has to hold more than this. */
const mostKept = 1_900;
const mostOfRoles = 1_000;

/** What of a person stays with the session, for rules: the longest claims are left out where it is too much, and the last roles. */
export function keptOf(user: WireUser, claims: Claims): { readonly user: WireUser; readonly claims: Claims } {
  let left = mostOfRoles;
  const roles = user.roles.filter((role) => {
    left -= sizeOf(role) + 1;
    return left >= 0;
  });
  const kept = { ...user, roles };
  return { user: kept, claims: keptClaims(claims, mostKept - sizeOf(kept)) };
}

function keptClaims(claims: Claims, room: number): Claims {
  const sized = Object.entries(claims)
    .filter(([name]) => !protocol.has(name))
    .map((entry) => ({ entry, size: sizeOf(entry) }))
    .sort((one, other) => one.size - other.size);
  let left = room;
  const kept = sized.filter(({ size }) => {
    left -= size;
    return left >= 0;
  });
  return Object.fromEntries(kept.map(({ entry }) => entry));
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
