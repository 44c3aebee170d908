import { timingSafeEqual } from 'node:crypto';
import type { InvocationClaims } from './claims.ts';
import { InvocationRejected } from './errors.ts';
import { hmacText } from './hmac.ts';
import type { WireKey } from './keys.ts';

/** Agents calling agents calling agents: beyond this many hops it is a loop. */
export const mostHops = 8;

/**
 * An agent holds the key that signs its own tokens, so a signature alone would let it claim any user.
 * The tag is an HMAC over the claims' JSON with a key that only routers have: it proves that a router minted
 * them. Members count in the order in which they stand, which parsing keeps.
 */
export function delegationTag(key: WireKey, claimsJson: string): string {
  return hmacText(key, claimsJson);
}

/** Throws InvocationRejected unless one of the router's keys made the claims' tag and the hops are few enough. */
export function checkDelegable(keys: readonly WireKey[], claims: InvocationClaims): void {
  const { del, ...rest } = claims;
  const covered = JSON.stringify(rest);
  const given = Buffer.from(del ?? '');
  const genuine = keys.some((key) => {
    const expected = Buffer.from(delegationTag(key, covered));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!genuine || claims.hop >= mostHops) throw new InvocationRejected('jwtVerify: not delegable');
}
