import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '#kit/json.ts';
import type { InvocationClaims } from './claims.ts';
import { InvocationRejected } from './errors.ts';
import { keyObjectOf, type WireKey } from './keys.ts';

/** Agents calling agents calling agents: beyond this many hops it is a loop. */
export const mostHops = 8;

/**
 * An agent holds the key that signs its own tokens, so a signature alone would let it claim any user.
 * The tag is an HMAC over the claims with a key that only routers have: it proves that a router minted them.
 */
export function delegationTag(key: WireKey, claims: InvocationClaims): string {
  const { del: _, ...covered } = claims;
  return createHmac('sha256', keyObjectOf(key)).update(canonicalJson(covered)).digest('base64url');
}

/** Throws InvocationRejected unless one of the router's keys made the claims' tag and the hops are few enough. */
export function checkDelegable(keys: readonly WireKey[], claims: InvocationClaims): void {
  const given = Buffer.from(claims.del ?? '');
  const genuine = keys.some((key) => {
    const expected = Buffer.from(delegationTag(key, claims));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!genuine || claims.hop >= mostHops) throw new InvocationRejected('jwtVerify: not delegable');
}
