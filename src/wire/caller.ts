import type { InvocationClaims } from './claims.ts';
import { checkDelegable } from './delegation.ts';
import { InvocationRejected } from './errors.ts';
import { decodeStrict, parseStrict } from './jws.ts';
import { createKeyRing, type WireKey } from './keys.ts';
import { openToken } from './token.ts';

export interface CallerCheck {
  /** Keys of the agent that `audienceOf` named, the current one first. */
  readonly agentKeys: readonly WireKey[];
  /** The router's delegation keys, the current one first. */
  readonly delegationKeys: readonly WireKey[];
  /** Instances of that agent that exist now. */
  readonly instances: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The claims of an invocation token that an agent presents to call another agent. It must have been minted
 * by a router for an instance of that agent that still exists, and be unexpired. One token may start several
 * calls while it lives: a tool calls as often as it needs. Throws InvocationRejected.
 */
export function verifyCaller(token: string, check: CallerCheck): InvocationClaims {
  const claims = openToken(token, createKeyRing(check.agentKeys), check.now);
  if (!check.instances.includes(claims.wl)) throw new InvocationRejected('jwtVerify: workload mismatch');
  checkDelegable(check.delegationKeys, claims);
  return claims;
}

/** The audience that a token claims, to find the keys that verify it. NOT verified. */
export function audienceOf(token: string): string | undefined {
  try {
    const payload = token.split('.')[1] ?? '';
    const audience = parseStrict(decodeStrict(payload).toString('utf8'))['aud'];
    return typeof audience === 'string' ? audience : undefined;
  } catch {
    return undefined;
  }
}
