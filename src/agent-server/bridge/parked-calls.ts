import type { Clock } from '#kit/clock.ts';
import { digestOf } from '#kit/digest.ts';
import type { Random } from '#kit/random.ts';
import { joinParkState, splitParkState } from '#mcp/bridge/park-state.ts';
import { inputRequired } from '#mcp/bridge/questions.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { WireKey } from '#wire/keys.ts';
import { seal, unseal } from '#wire/seal.ts';
import { type AskedCall, nobodyAnswered } from './asked-call.ts';

export interface ParkedCallsOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Principal of the agent and uid of this instance. */
  readonly agent: string;
  readonly instance: string;
  /** Milliseconds until nobody is waited for any more. */
  readonly ttlMs: number;
  readonly max: number;
  readonly maxPerUser: number;
}

/** Who may take a call up again, and as what. */
export interface Claim {
  readonly user: string;
  /** Of what is called. */
  readonly digest: string;
  /** Many share this `user`, so that the limit of one is not for them. */
  readonly anonymous?: boolean;
}

/** Calls that wait for a client to come back with answers. */
export interface ParkedCalls {
  /** The `input_required` for what a call asks. Throws RpcError when too many wait. */
  park(call: AskedCall, claim: Claim): Result;
  /** The call of a `requestState`, once. Throws RpcError `invalidParams` with the reason. */
  take(state: unknown, claim: Claim): AskedCall;
  /** Ends the oldest of a user's calls, as if its time were over. */
  expireOldest(user: string): void;
  readonly size: number;
  close(): void;
}

interface Parked extends Claim {
  readonly call: AskedCall;
  readonly cancelTimer: () => void;
}

const purpose = 'parked-call';

export function createParkedCalls(options: ParkedCallsOptions): ParkedCalls {
  const { clock, random, agent, instance, ttlMs } = options;
  // Calls are lost with this process, so what only it can read is enough.
  const keys = [newKey(random)];
  /** In order of age. */
  const parked = new Map<string, Parked>();

  function remove(id: string): AskedCall | undefined {
    const entry = parked.get(id);
    parked.delete(id);
    entry?.cancelTimer();
    return entry?.call;
  }
  function expire(id: string): void {
    remove(id)?.abandon(nobodyAnswered());
  }
  function expireOldest(user: string): void {
    const oldest = parked.entries().find(([, entry]) => entry.user === user);
    if (oldest !== undefined) expire(oldest[0]);
  }
  function makeRoom({ user, anonymous = false }: Claim): void {
    const own = [...parked.values()].filter((entry) => entry.user === user);
    if (!anonymous && own.length >= options.maxPerUser) expireOldest(user);
    if (parked.size < options.max) return;
    throw new RpcError(
      errorCodes.internal,
      `More than ${options.max} calls wait for answers of their clients`,
    );
  }
  return {
    park(call, claim) {
      const { user, digest } = claim;
      try {
        makeRoom(claim);
      } catch (error) {
        call.cancel(error);
        throw error;
      }
      const id = random.bytes(16).toString('base64url');
      const cancelTimer = clock.after(ttlMs, () => expire(id));
      parked.set(id, { call, user, digest, cancelTimer });
      const ends = clock.now() + ttlMs;
      const payload = { a: agent, i: instance, p: id, u: digestOf(user), d: digest, e: ends };
      return inputRequired(call.questions, joinParkState(instance, seal(keys, purpose, payload)));
    },
    take(state, { user, digest }) {
      const id = readState(state);
      const entry = parked.get(id);
      if (entry === undefined) throw refused('the call was answered before, or is not waiting any more');
      if (entry.user !== user) throw refused('it is of another user');
      if (entry.digest !== digest) throw refused('it is of a call with another method, name or arguments');
      remove(id);
      return entry.call;
    },
    expireOldest,
    get size() {
      return parked.size;
    },
    close() {
      for (const id of [...parked.keys()]) remove(id)?.cancel(new Error('The agent-server stops'));
    },
  };

  /** The id in a state of this instance that has not expired. */
  function readState(state: unknown): string {
    const parts = splitParkState(state);
    if (parts === undefined) throw refused('it was not made by this agent');
    if (parts.instance !== instance) throw refused('the call waited in another instance of the agent');
    const payload = unseal(keys, purpose, parts.sealed);
    if (payload === undefined) throw refused('it was changed, or the instance that made it has ended');
    const { a, i, p, e } = payload;
    if (a !== agent || i !== instance || typeof p !== 'string')
      throw refused('it was not made by this agent');
    if (typeof e !== 'number' || e <= clock.now()) {
      throw refused(`nobody came back within ${ttlMs / 1000} seconds, and the call was cancelled`);
    }
    return p;
  }
}

/** What a retry must have in common with the call. */
export function digestOfCall(method: string, params: Params): string {
  const { name, uri, arguments: args } = params;
  return digestOf({ method, name, uri, arguments: args }, 32);
}

function newKey(random: Random): WireKey {
  return { kid: random.bytes(4).toString('hex'), secret: random.bytes(32) };
}

function refused(reason: string): RpcError {
  return new RpcError(errorCodes.invalidParams, `Invalid params: requestState is not usable: ${reason}`, {
    reason,
  });
}
