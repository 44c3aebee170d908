import type { IncomingMessage, ServerResponse } from 'node:http';
import { oncePerObject } from '#kit/memo.ts';
import type { Access } from '#routing/access.ts';
import { hasName } from '#routing/sorted-names.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { RoutingTable } from '#routing/table.ts';
import { anonymous, type Caller, rememberCaller, unknownAgent } from '../caller.ts';
import { identifyCaller, isDelegated, isRejection } from '../delegation.ts';
import { factsOf, isFromAgent } from '../request.ts';
import type { Services } from '../services.ts';
import { asksWho, isAdmitted } from './admitted.ts';
import { type Authenticator, AuthRefused, type Identity } from './authenticator.ts';
import { isForeignWrite } from './foreign-write.ts';
import { refuse } from './refuse.ts';
import { taskAccess } from './task-access.ts';

export interface GateOptions {
  readonly services: Pick<Services, 'tables' | 'keys' | 'clock' | 'log' | 'auth'>;
  readonly authenticators: readonly Authenticator[];
}

/**
 * Lets a request in, or answers it. True: it goes on, and `identifyCaller` says who it is. False: it was answered. At
 * once where nothing asks, or what was shown was verified before.
 */
export type Gate = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

export function createGate({ services, authenticators }: GateOptions): Gate {
  return (request, response) => {
    const { resolution } = factsOf(request);
    const ofRoute = 'surface' in resolution ? resolution.surface?.access : undefined;
    if (resolution.kind === 'mcp') {
      const table = services.tables.current();
      if (ofRoute === undefined && table.guarded.size === 0) return true;
      return enter({ required: list(ofRoute), possible: guardedIn(table, resolution.surface) });
    }
    const task = 'target' in resolution ? undefined : taskAccess(services.tables.current(), factsOf(request));
    const ofAgent = 'target' in resolution ? resolution.target.access : task?.agent;
    if (ofRoute === undefined && ofAgent === undefined && task === undefined) return true;
    const possible = task === undefined ? nothing : { accesses: task.routes, all: task.routes.length > 0 };
    return enter({ required: list(ofRoute, ofAgent), possible });

    function enter(asked: Asked): boolean | Promise<boolean> {
      try {
        const found = whoIs(request, response, asked);
        if (!(found instanceof Promise)) return decide(asked, found);
        return found.then((caller) => decide(asked, caller)).catch((error: unknown) => fail(asked, error));
      } catch (error) {
        return fail(asked, error);
      }
    }

    function decide({ required, possible }: Asked, caller: Caller): boolean {
      const unmet = required.find((access) => !isAdmitted(caller, access));
      const empty = possible.all && !possible.accesses.some((access) => isAdmitted(caller, access));
      const asking = unmet ?? (empty ? possible.accesses[0] : undefined);
      if (asking !== undefined) return refuse(services, request, response, asking);
      if (isForeignWrite(request, caller, services.auth)) {
        const description = 'a page of another origin may not act for who is logged in here';
        return refuse(services, request, response, undefined, {
          status: 403,
          code: 'foreign_origin',
          description,
        });
      }
      response.setHeader('vary', 'cookie, authorization');
      rememberCaller(request, caller);
      return true;
    }

    function fail({ required, possible }: Asked, error: unknown): false {
      if (error instanceof AuthRefused)
        return refuse(services, request, response, required[0] ?? possible.accesses[0], error.details);
      // The endpoint says so itself, in its own words.
      if (isRejection(error)) return refuse(services, request, response, undefined, rejected);
      services.log.error('who calls cannot be found out', { error: String(error) });
      return refuse(services, request, response, undefined, unknown);
    }
  };

  function whoIs(request: IncomingMessage, response: ServerResponse, asked: Asked): Caller | Promise<Caller> {
    if (isDelegated(request)) return identifyCaller(request, services);
    if (isFromAgent(request)) return unknownAgent;
    const accesses = [...asked.required, ...asked.possible.accesses].filter(asksWho);
    return firstIdentity({ request, response, accesses, authenticators });
  }
}

const rejected = {
  status: 401,
  code: 'invalid_token',
  description: 'the token of the call is not accepted',
} as const;
const unknown = {
  status: 503,
  code: 'auth_unavailable',
  description: 'who calls cannot be found out now',
} as const;

interface Asked {
  /** Each must be satisfied. */
  readonly required: readonly Access[];
  readonly possible: Guarded;
}

/** What agents of an aggregate ask for, each once. */
interface Guarded {
  readonly accesses: readonly Access[];
  /** There is no agent that asks for nothing. */
  readonly all: boolean;
}

const nothing: Guarded = { accesses: [], all: false };

function list(...accesses: (Access | undefined)[]): Access[] {
  return accesses.filter((access) => access !== undefined);
}

const guardedBySurface = new WeakMap<RoutingTable['guarded'], WeakMap<McpSurface, Guarded>>();

/** Found out once for a surface, until agents ask for something else. */
function guardedIn({ guarded }: RoutingTable, surface: McpSurface): Guarded {
  if (guarded.size === 0) return nothing;
  const known = guardedBySurface.get(guarded) ?? new WeakMap<McpSurface, Guarded>();
  guardedBySurface.set(guarded, known);
  const made = known.get(surface) ?? guardedAnew(guarded, surface);
  known.set(surface, made);
  return made;
}

function guardedAnew(guarded: RoutingTable['guarded'], { namespace, agents }: McpSurface): Guarded {
  const accesses = new Map<string, Access>();
  let count = 0;
  for (const [key, access] of guarded) {
    const slash = key.indexOf('/');
    if (key.slice(0, slash) !== namespace || !hasName(agents, key.slice(slash + 1)) || !asksWho(access))
      continue;
    count += 1;
    accesses.set(JSON.stringify([access.mode, access.realm, access.issuers]), access);
  }
  return { accesses: [...accesses.values()], all: count === agents.length && count > 0 };
}

interface Search {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly accesses: readonly Access[];
  readonly authenticators: readonly Authenticator[];
}

/** Whoever any of the accesses knows; a credential that none accepts is refused only when no other was shown. */
function firstIdentity(search: Search, from = 0, refused?: AuthRefused): Caller | Promise<Caller> {
  const { request, response, accesses, authenticators } = search;
  const total = accesses.length * authenticators.length;
  let refusal = refused;
  for (let at = from; at < total; at += 1) {
    const access = accesses[Math.floor(at / authenticators.length)];
    const authenticator = authenticators[at % authenticators.length];
    if (access === undefined || authenticator === undefined) continue;
    try {
      const found = authenticator.identify(request, access, response);
      if (found instanceof Promise)
        return found.then(orNext(search, at, refusal), orRefused(search, at, refusal));
      if (found !== undefined) return callerOf(found);
    } catch (error) {
      refusal ??= asRefusal(error);
    }
  }
  if (refusal !== undefined) throw refusal;
  return anonymous;
}

function orNext(search: Search, at: number, refusal: AuthRefused | undefined) {
  return (found: Identity | undefined) =>
    found === undefined ? firstIdentity(search, at + 1, refusal) : callerOf(found);
}

function orRefused(search: Search, at: number, refusal: AuthRefused | undefined) {
  return (error: unknown) => firstIdentity(search, at + 1, refusal ?? asRefusal(error));
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
