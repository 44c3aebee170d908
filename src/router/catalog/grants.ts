import { digestOf } from '#kit/digest.ts';
import { type Access, bearerRealm, issuerOfBearer } from '#routing/access.ts';
import { type Allowance, allowanceOf, type Credentials, type Grant } from '#routing/allow.ts';
import type { SurfaceLimits } from '#routing/limits.ts';
import { hasName } from '#routing/sorted-names.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { RoutingTable } from '#routing/table.ts';
import { isAdmitted } from '../auth/admitted.ts';
import { rolesOf } from '../auth/bearer/user.ts';
import type { Caller } from '../caller.ts';
import type { TableSource } from '../sources.ts';

/** What a caller may see of the surfaces. */
export interface Grants {
  /**
   * The surface as the caller may use it: without the agents that do not admit them or let them use nothing, and with
   * `limits` where rules say who may call what. The same object while nothing changes; the surface itself where
   * nothing is kept from anybody.
   */
  narrow(surface: McpSurface, caller: Caller): McpSurface;
}

interface Asked {
  readonly guarded: RoutingTable['guarded'];
  /** What agents of the surface ask for, by name. */
  readonly agents: ReadonlyMap<string, Access>;
  readonly narrowed: WeakMap<Caller, McpSurface>;
}

export function createGrants({ tables }: { readonly tables: Pick<TableSource, 'current'> }): Grants {
  const known = new WeakMap<McpSurface, Asked>();
  return {
    narrow(surface, caller) {
      const { guarded } = tables.current();
      if (guarded.size === 0 && surface.access === undefined) return surface;
      let asked = known.get(surface);
      if (asked?.guarded !== guarded) {
        asked = { guarded, agents: askingAgents(surface, guarded), narrowed: new WeakMap() };
        known.set(surface, asked);
      }
      const found = asked.narrowed.get(caller);
      if (found !== undefined) return found;
      const made = narrowAnew(surface, asked.agents, caller);
      asked.narrowed.set(caller, made);
      return made;
    },
  };
}

function askingAgents(
  { namespace, agents }: McpSurface,
  guarded: RoutingTable['guarded'],
): Map<string, Access> {
  const asking = new Map<string, Access>();
  if (guarded.size === 0) return asking;
  for (const agent of agents) {
    const access = guarded.get(`${namespace}/${agent}`);
    if (access !== undefined) asking.set(agent, access);
  }
  return asking;
}

/** What the caller may use of one Access that has rules. */
interface Granted {
  readonly allowance: Allowance;
  readonly grant: Grant;
  readonly credentials: Credentials;
}

function narrowAnew(surface: McpSurface, asking: ReadonlyMap<string, Access>, caller: Caller): McpSurface {
  const ofRoute = grantedBy(surface.access, caller);
  const byAgent = new Map<string, Granted | 'nothing'>();
  for (const [agent, access] of asking) {
    const granted = isAdmitted(caller, access) ? grantedBy(access, caller) : 'nothing';
    if (granted !== undefined) byAgent.set(agent, granted);
  }
  if (ofRoute === undefined && asking.size === 0) return surface;
  const agents = surface.agents.filter((agent) => {
    const granted = byAgent.get(agent);
    return !isNothing(ofRoute) && (granted === undefined || (granted !== 'nothing' && !isNothing(granted)));
  });
  return {
    ...surface,
    agents,
    limits: { held: caller.scopes ?? [], ...limitsBy(surface, agents, ofRoute, byAgent) },
  };
}

function isNothing(granted: Granted | undefined): boolean {
  return granted?.grant.isEmpty ?? false;
}

/** Undefined: there are no rules. */
function grantedBy(access: Access | undefined, caller: Caller): Granted | undefined {
  if (access?.allow === undefined) return undefined;
  const allowance = allowanceOf(access.allow);
  const credentials = credentialsFor(access, caller);
  return { allowance, credentials, grant: allowance.grantOf(credentials) };
}

function limitsBy(
  whole: McpSurface,
  agents: readonly string[],
  ofRoute: Granted | undefined,
  byAgent: ReadonlyMap<string, Granted | 'nothing'>,
): Omit<SurfaceLimits, 'held'> {
  const keys = agents.map((agent) => {
    const granted = byAgent.get(agent);
    return granted === undefined || granted === 'nothing' ? [agent] : [agent, granted.grant.key];
  });
  return {
    whole,
    key: digestOf([ofRoute?.grant.key ?? '', ...keys], 32),
    permits(kind, { agent, name, exposed }) {
      if (!hasName(agents, agent)) return false;
      const own = byAgent.get(agent);
      if (ofRoute !== undefined && !ofRoute.grant.permits(kind, exposed)) return false;
      return own === undefined || (own !== 'nothing' && own.grant.permits(kind, name));
    },
    scopesFor(kind, item) {
      const own = byAgent.get(item.agent);
      if (own === 'nothing') return undefined;
      return joinScopes(wantedBy(ofRoute, kind, item.exposed), wantedBy(own, kind, item.name));
    },
  };
}

type Kind = Parameters<SurfaceLimits['permits']>[0];

/** Empty: nothing is missing. Undefined: something that no scope gives. */
function wantedBy(granted: Granted | undefined, kind: Kind, name: string): readonly string[] | undefined {
  if (granted === undefined || granted.grant.permits(kind, name)) return [];
  return granted.allowance.scopesFor(granted.credentials, kind, name);
}

function joinScopes(
  left: readonly string[] | undefined,
  right: readonly string[] | undefined,
): readonly string[] | undefined {
  if (left === undefined || right === undefined) return undefined;
  const both = [...new Set([...left, ...right])];
  return both.length === 0 ? undefined : both;
}

const nobody: Credentials = { roles: [], scopes: [], claims: {} };
/** Whom nothing but their roles limits, unless their credential says so. */
const unlimited = new Set<Caller['proof']>(['password', 'sso', 'key', 'delegation']);

/**
 * What of a caller counts for the rules of an Access: nothing unless they are known to the realm or the issuers that it
 * names itself, so that no other realm can give a role. What an agent passes on has its user's roles and no more than
 * the token says.
 */
function credentialsFor(access: Access, caller: Caller): Credentials {
  const { user, proof, scopes, claims = {} } = caller;
  if (user === null) return nobody;
  const { mode, realm, issuers } = access;
  const isOfRealm = mode !== 'none' && (caller.realm ?? user.realm) === realm;
  const isOfIssuer = issuers.length > 0 && isAdmitted(caller, { ...access, mode: 'none' });
  if (!isOfRealm && !isOfIssuer) return nobody;
  const roles = isOfRealm ? user.roles : rolesOfToken(access, caller);
  return { roles, claims, scopes: scopes ?? (unlimited.has(proof) ? undefined : []) };
}

/** The roles that this Access maps the claims of a token to. What an agent passes on has none but those of the same mapping. */
function rolesOfToken(
  access: Access,
  { user, proof, realm = user?.realm, claims = {} }: Caller,
): readonly string[] {
  const issuer = issuerOfBearer(realm ?? '') ?? '';
  if (realm === bearerRealm(issuer, access)) return user?.roles ?? [];
  const { sso } = access;
  return proof === 'bearer' && sso?.issuer === issuer ? rolesOf(claims, sso) : [];
}
