import type { IncomingMessage } from 'node:http';
import { codeOf } from '#kit/errors.ts';
import { audienceOf, verifyCaller } from '#wire/caller.ts';
import { InvocationRejected } from '#wire/errors.ts';
import { anonymous, type Caller, knownCaller, unknownAgent } from './caller.ts';
import { narrowed } from './narrowing.ts';
import { isFromAgent } from './request.ts';
import type { Services } from './services.ts';

/** Header in which an agent shows the invocation token that it was given, to call another agent with it. */
export const callerHeader = 'x-ploinky-caller-jwt';

export function isDelegated(request: IncomingMessage): boolean {
  return request.headers[callerHeader] !== undefined;
}

/**
 * Who a request comes from. With the delegation header: the agent that the token was minted for, acting for
 * the token's user, within what the token or the agent itself limits it to. The token must be one that a router minted, unexpired, for a workload that still exists.
 * Throws InvocationRejected.
 */
export function identifyCaller(
  request: IncomingMessage,
  services: Pick<Services, 'tables' | 'keys' | 'clock'>,
): Caller {
  const known = knownCaller(request);
  if (known !== undefined) return known;
  const token = request.headers[callerHeader];
  if (token === undefined) return isFromAgent(request) ? unknownAgent : anonymous;
  if (typeof token !== 'string') throw new InvocationRejected('jwtVerify: malformed token');
  const audience = audienceOf(token);
  const match = /^agent:([^/]+\/[^/]+)$/.exec(audience ?? '');
  const target = services.tables.current().targets.get(match?.[1] ?? '');
  if (target === undefined) throw new InvocationRejected('jwtVerify: audience mismatch');
  const claims = verifyCaller(token, {
    agentKeys: services.keys.agent(target.identity),
    delegationKeys: services.keys.delegation,
    instances: target.instances,
    now: services.clock.now(),
  });
  const { aud: principal, usr: user } = claims;
  const realm = user?.realm;
  const limits = narrowed(claims, request.headers);
  // Elsewhere nothing says which tool is called.
  if (limits.tools !== undefined && !request.url?.startsWith('/mcps/'))
    throw new InvocationRejected('jwtVerify: tool not delegated');
  return {
    ...{ principal, user, hop: claims.hop + 1, proof: 'delegation' as const },
    ...(realm !== undefined && { realm }),
    ...(claims.act !== undefined && { actor: claims.act }),
    ...limits,
  };
}

export function isRejection(error: unknown): error is InvocationRejected {
  return codeOf(error) === 'InvocationRejected';
}
