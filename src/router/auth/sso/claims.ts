type Claims = Readonly<Record<string, unknown>>;

/** What the protocol itself needs, and says nothing of the person. */
const protocol = new Set([
  ...['iss', 'aud', 'exp', 'iat', 'nbf', 'nonce', 'jti', 'azp', 'auth_time', 'sid'],
  ...['at_hash', 'c_hash', 's_hash', 'rt_hash'],
]);
/** Characters of JSON. A session travels with every request. */
const mostKept = 1_500;

/** What of a person's claims stays with the session, for rules. Where it is too much the longest are left out. */
export function keptClaims(claims: Claims): Claims {
  const entries = Object.entries(claims).filter(([name]) => !protocol.has(name));
  const sized = entries
    .map((entry) => ({ entry, size: JSON.stringify(entry).length }))
    .sort((left, right) => left.size - right.size);
  let left = mostKept;
  const kept = sized.filter(({ size }) => {
    left -= size;
    return left >= 0;
  });
  return Object.fromEntries(kept.map(({ entry }) => entry));
}
