import type { IncomingMessage, ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { Access } from '#routing/access.ts';
import type { Resolution } from '#routing/resolve.ts';
import { hasName } from '#routing/sorted-names.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { RoutingTable } from '#routing/table.ts';
import { type Caller, rememberCaller, unknownAgent } from '../caller.ts';
import { identifyCaller, isDelegated, isRejection } from '../delegation.ts';
import { factsOf, isFromAgent, type RequestFacts } from '../request.ts';
import type { Services } from '../services.ts';
import { asksWho, isAdmitted } from './admitted.ts';
import { type Authenticator, AuthRefused } from './authenticator.ts';
import { findCaller } from './find-caller.ts';
import { isForeignWrite } from './foreign-write.ts';
import { refuse } from './refuse.ts';
import { taskAccess } from './task-access.ts';

export interface GateOptions {
  readonly services: Pick<Services, 'tables' | 'resolve' | 'keys' | 'clock' | 'log' | 'auth'>;
  readonly authenticators: readonly Authenticator[];
}

/**
 * Lets a request in, or answers it. True: it goes on, and `identifyCaller` says who it is. False: it was answered. At
 * once where nothing asks, or what was shown was verified before.
 */
export type Gate = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

export function createGate({ services, authenticators }: GateOptions): Gate {
  return (request, response) => {
    const facts = factsOf(request);
    const asked = askedOf(services.tables.current(), facts, facts.resolution);
    return asked === undefined || enter(asked);

    function enter(asked: Asked): boolean | Promise<boolean> {
      try {
        const found = whoIs(request, response, asked);
        if (!(found instanceof Promise)) return decide(asked, found);
        return found.then((caller) => decide(asked, caller)).catch((error: unknown) => fail(asked, error));
      } catch (error) {
        return fail(asked, error);
      }
    }

    function decide(asked: Asked, caller: Caller): boolean {
      const asking = unmetBy(caller, asked);
      if (asking !== undefined) return refuse(services, request, response, asking);
      if (isForeignWrite(request, caller, services)) {
        const description = 'a page of another origin may not act for who is logged in here';
        return refuse(services, request, response, undefined, {
          status: 403,
          code: 'foreign_origin',
          description,
        });
      }
      response.setHeader('vary', 'cookie, authorization');
      rememberCaller(request, caller, () => stands(request, caller));
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

  function whoIs(
    request: IncomingMessage,
    response: ServerResponse | undefined,
    { required, possible }: Asked,
  ): Caller | Promise<Caller> {
    if (isDelegated(request)) return identifyCaller(request, services);
    if (isFromAgent(request)) return unknownAgent;
    const accesses = guestsLast([...required, ...possible.accesses].filter(asksWho));
    return findCaller({ request, response, accesses, required, authenticators });
  }

  /** Whether who was let in would be let in now, as the same. */
  async function stands(request: IncomingMessage, caller: Caller): Promise<boolean> {
    const facts = factsOf(request);
    const asked = askedOf(services.tables.current(), facts, services.resolve(facts.host, facts.path));
    if (asked === undefined) return true;
    try {
      const now = await whoIs(request, undefined, asked);
      return (now === caller || isDeepStrictEqual(now, caller)) && unmetBy(now, asked) === undefined;
    } catch (error) {
      if (error instanceof AuthRefused && error.details.status !== 503) return false;
      services.log.debug('whether a caller still counts cannot be found out', { error: String(error) });
      return true;
    }
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

/** Undefined: nothing asks. */
function askedOf(table: RoutingTable, facts: RequestFacts, resolution: Resolution): Asked | undefined {
  const ofRoute = 'surface' in resolution ? resolution.surface?.access : undefined;
  if (resolution.kind === 'mcp') {
    if (ofRoute === undefined && table.guarded.size === 0) return undefined;
    return { required: list(ofRoute), possible: guardedIn(table, resolution.surface) };
  }
  const task = 'target' in resolution ? undefined : taskAccess(table, facts);
  const ofAgent = 'target' in resolution ? resolution.target.access : task?.agent;
  if (ofRoute === undefined && ofAgent === undefined && task === undefined) return undefined;
  const possible = task === undefined ? nothing : { accesses: task.routes, all: task.routes.length > 0 };
  return { required: list(ofRoute, ofAgent), possible };
}

/** What the caller does not satisfy. */
function unmetBy(caller: Caller, { required, possible }: Asked): Access | undefined {
  const unmet = required.find((access) => !isAdmitted(caller, access));
  if (unmet !== undefined || !possible.all) return unmet;
  const isEmpty = !possible.accesses.some((access) => isAdmitted(caller, access));
  return isEmpty ? possible.accesses[0] : undefined;
}

/** Everybody may be a guest: who is somebody besides counts as that. */
function guestsLast(accesses: readonly Access[]): readonly Access[] {
  const isGuest = ({ mode }: Access) => mode === 'guest';
  if (accesses.length < 2 || !accesses.some(isGuest)) return accesses;
  return [...accesses.filter((access) => !isGuest(access)), ...accesses.filter(isGuest)];
}

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
