import type { IncomingMessage, ServerResponse } from 'node:http';
import { oncePerObject } from '#kit/memo.ts';
import type { Access } from '#routing/access.ts';
import { anonymous, type Caller } from '../caller.ts';
import { isAdmitted } from './admitted.ts';
import { type Authenticator, AuthRefused, type Identity } from './authenticator.ts';

export interface Search {
  readonly request: IncomingMessage;
  /** Undefined: nothing is renewed. */
  readonly response: ServerResponse | undefined;
  /** Who is asked whether they know the caller. */
  readonly accesses: readonly Access[];
  /** What a caller should satisfy, each. */
  readonly required: readonly Access[];
  readonly authenticators: readonly Authenticator[];
}

interface SoFar {
  readonly at: number;
  /** A credential that was refused. */
  readonly refusal?: AuthRefused | undefined;
  /** Somebody who is known, but not to all that is required. */
  readonly first?: Caller | undefined;
}

/**
 * Of those that the request shows to be, the first who satisfies all that is required, else the first. A credential
 * that none accepts is refused only when no other was shown.
 */
export function findCaller(search: Search, soFar: SoFar = { at: 0 }): Caller | Promise<Caller> {
  const { request, response, accesses, authenticators } = search;
  const total = accesses.length * authenticators.length;
  let { refusal, first } = soFar;
  for (let { at } = soFar; at < total; at += 1) {
    const access = accesses[Math.floor(at / authenticators.length)];
    const authenticator = authenticators[at % authenticators.length];
    if (access === undefined || authenticator === undefined) continue;
    try {
      const found = authenticator.identify(request, access, response);
      if (found instanceof Promise) {
        const now = { at: at + 1, refusal, first };
        return found.then(orNext(search, now), orRefused(search, now));
      }
      if (found === undefined) continue;
      const caller = callerOf(found);
      if (suffices(search, caller)) return caller;
      first ??= caller;
    } catch (error) {
      refusal ??= asRefusal(error);
    }
  }
  if (first !== undefined) return first;
  if (refusal !== undefined) throw refusal;
  return anonymous;
}

function suffices({ required }: Search, caller: Caller): boolean {
  return required.every((access) => isAdmitted(caller, access));
}

function orNext(search: Search, soFar: SoFar) {
  return (found: Identity | undefined) => {
    if (found === undefined) return findCaller(search, soFar);
    const caller = callerOf(found);
    if (suffices(search, caller)) return caller;
    return findCaller(search, { ...soFar, first: soFar.first ?? caller });
  };
}

function orRefused(search: Search, soFar: SoFar) {
  return (error: unknown) => findCaller(search, { ...soFar, refusal: soFar.refusal ?? asRefusal(error) });
}

function asRefusal(error: unknown): AuthRefused {
  if (error instanceof AuthRefused) return error;
  throw error;
}

/** The same object for the same identity: who keeps something by caller finds it again. */
const callerOf = oncePerObject(
  ({ user, proof, realm, scopes, claims, ownAudience }: Identity): Caller => ({
    principal: anonymous.principal,
    user: { ...user, realm },
    hop: 0,
    ...{ proof, realm },
    ...(scopes && { scopes }),
    ...(claims && { claims }),
    ...(ownAudience !== undefined && { ownAudience }),
  }),
);
