import type { IncomingMessage } from 'node:http';
import type { Actor, WireUser } from '#wire/claims.ts';

/** How a caller showed who they are. */
export type Proof = 'password' | 'sso' | 'guest' | 'bearer' | 'key' | 'delegation';

/** On whose behalf a request comes in. */
export interface Caller {
  /** `router:first-party`, or the principal of the agent that calls. */
  readonly principal: string;
  readonly user: WireUser | null;
  /** Delegations so far. */
  readonly hop: number;
  /** Absent: nothing asked. */
  readonly proof?: Proof;
  /** Who knows the user; see `Access`. */
  readonly realm?: string;
  /** What the token or key is limited to; absent: nothing. */
  readonly scopes?: readonly string[];
  /** Tools to which agents that delegated have narrowed it, each a name or `prefix*`; absent: all. */
  readonly tools?: readonly string[];
  /** The agents that delegated before `principal`, the last one first. */
  readonly actor?: Actor;
  /** What the user's provider or issuer says of them. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** The token is for the very URL that was asked. */
  readonly ownAudience?: boolean;
}

/** Somebody who reached the router while nothing asks who they are. */
export const anonymous: Caller = { principal: 'router:first-party', user: null, hop: 0 };

/** Something inside a sandbox that shows no token: it is some agent, and that is all one can say. */
export const unknownAgent: Caller = { principal: 'agent:unknown', user: null, hop: 1 };

/** What calls that are made for the caller later on may use: no more than the caller. */
export function scopeLimit({
  scopes,
  proof,
}: Pick<Caller, 'scopes' | 'proof'>): readonly string[] | undefined {
  return scopes ?? (proof === 'guest' || proof === 'bearer' ? [] : undefined);
}

/** The agents that delegated, with the one that calls. */
export function actorOf({ principal, actor, proof }: Caller): Actor | undefined {
  if (proof !== 'delegation') return undefined;
  return { sub: principal, ...(actor && { act: actor }) };
}

/** What an MCP session is bound to: ids are unique in a realm, not among realms. Empty: nobody in particular. */
export function bindingOf({ user, realm }: Pick<Caller, 'user' | 'realm'>): string {
  if (user === null) return '';
  const known = realm ?? user.realm;
  return known === undefined ? user.id : `${known} ${user.id}`;
}

const caller = Symbol('caller');
const standing = Symbol('standing');
type Known = IncomingMessage & { [caller]?: Caller; [standing]?: Stands };
/** Never rejects. */
type Stands = () => Promise<boolean>;

/** Keeps who was let in with the request itself, as its facts are, and how to ask again whether they would be. */
export function rememberCaller(request: IncomingMessage, known: Caller, stands: Stands): void {
  (request as Known)[caller] = known;
  (request as Known)[standing] = stands;
}

/** Asks whether who was let in would be let in now, as the same. Undefined where nothing asked. */
export function standingOf(request: IncomingMessage): Stands | undefined {
  return (request as Known)[standing];
}

/** Undefined where nothing asked. */
export function knownCaller(request: IncomingMessage): Caller | undefined {
  return (request as Known)[caller];
}
