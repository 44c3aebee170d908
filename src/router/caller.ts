import type { WireUser } from '#wire/claims.ts';

/** On whose behalf a request comes in. */
export interface Caller {
  /** `router:first-party`, or the principal of the agent that calls. */
  readonly principal: string;
  readonly user: WireUser | null;
  /** Delegations so far. */
  readonly hop: number;
}

/** Somebody who reached the router while nothing asks who they are. */
export const anonymous: Caller = { principal: 'router:first-party', user: null, hop: 0 };

/** Something inside a sandbox that shows no token: it is some agent, and that is all one can say. */
export const unknownAgent: Caller = { principal: 'agent:unknown', user: null, hop: 1 };
