import type { Clock } from '#kit/clock.ts';
import { digestOf } from '#kit/digest.ts';
import type { Random } from '#kit/random.ts';
import { askableCapabilities, canBeAsked, mayAsk } from '#mcp/bridge/capabilities.ts';
import { errorForEra } from '#mcp/bridge/errors.ts';
import {
  inputRequired,
  isAskingMethod,
  readInputResponses,
  urlQuestions,
  withoutRetryMembers,
} from '#mcp/bridge/questions.ts';
import type { Era } from '#mcp/eras.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { Settings } from '../config/settings.ts';
import type { CallContext } from '../source.ts';
import { AskedCall, isAnonymous } from './asked-call.ts';
import { createLanes, type Lane } from './lanes.ts';
import { type Claim, createParkedCalls, digestOfCall } from './parked-calls.ts';
import { answerRounds, roundLimits } from './rounds.ts';

export type Send = (params: Params, context: CallContext) => Promise<Result>;

export interface BridgeOptions {
  /** Principal of the agent and uid of this instance, which a `requestState` is bound to. */
  readonly agent: string;
  readonly instance: string;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
}

/** Serves clients of one era with a server of the other; see docs/bridging.md. */
export interface Bridge {
  /**
   * A request of a client that the server serves in `served`, which is not the client's own era. `send` sends it as
   * its context says. Throws RpcError in the terms of the client's era.
   */
  request(served: Served, method: string, params: Params, context: CallContext, send: Send): Promise<Result>;
  /** What was told while nobody listened, or cannot be told in the client's era. */
  readonly dropped: Readonly<Record<DroppedKind, number>>;
  /** Counts one more of them. */
  drop(kind: DroppedKind): void;
  readonly parked: number;
  /** Cancels what runs and what waits. */
  close(): void;
}

export interface Served {
  readonly era: Era;
  /** Its questions name no call, so that one call at a time runs in an upstream session. */
  readonly oneByOne: boolean;
}

export type DroppedKind = 'progress' | 'log' | 'elicitationComplete';

/** Milliseconds for a server to end a call by itself after its questions were cancelled. */
const graceMs = 1000;

export function createBridge(options: BridgeOptions): Bridge {
  const { clock, settings } = options;
  const { dropped, drop } = countDropped();
  const parked = createParkedCalls({ ...options, ...parkLimits(settings) });
  const asking = { clock, gatherMs: settings.parkGatherMs, graceMs, onDropped: drop };
  // Half of the processes, so that the others are left to other users.
  const most = Math.max(1, Math.floor(settings.maxUpstreamProcesses / 2));
  const lanes = createLanes(most, parked.expireOldest);
  const running = holdRunning(parked.close);
  const rounds = roundLimits(options);

  async function toSessions(
    { oneByOne }: Served,
    method: string,
    params: Params,
    context: CallContext,
    send: Send,
  ): Promise<Result> {
    const first = withoutRetryMembers(params);
    if (!mayBeAsked(method, context)) return send(first, context);
    const claim = claimOf(method, params, context);
    const responses = readInputResponses(params);
    const { requestState } = params;
    if (requestState !== undefined) {
      const call = parked.take(requestState, claim);
      call.answer(responses);
      return proceed(call, claim, context);
    }
    const lane = oneByOne ? await lanes.enter(claim.user, context.signal) : undefined;
    return proceed(begin(first, context, claim.user, send, lane), claim, context);
  }
  function begin(
    params: Params,
    context: CallContext,
    user: string,
    send: Send,
    lane: Lane | undefined,
  ): AskedCall {
    const capabilities = askableCapabilities(context.capabilities);
    const as = { session: sharedSession(user, capabilities, lane?.index), capabilities };
    const call = new AskedCall(context, as, (own) => send(params, own), asking, lane?.park);
    running.add(call);
    if (lane !== undefined) void call.ended.then(lane.leave);
    return call;
  }
  async function proceed(call: AskedCall, claim: Claim, context: CallContext): Promise<Result> {
    const result = await call.next(context);
    if (result !== undefined) return result;
    const asks = parked.park(call, claim);
    call.onParked?.();
    return asks;
  }
  return {
    async request(served, method, params, context, send) {
      try {
        if (served.era === 'stateless') {
          return await answerRounds(method, params, context, (next) => send(next, context), rounds);
        }
        if (params['requestState'] !== undefined && !mayBeAsked(method, context)) throw unknownState();
        return await toSessions(served, method, params, context, send);
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        const questions = context.era === 'stateless' ? urlsToVisit(error, context) : undefined;
        if (questions !== undefined) return inputRequired(questions, undefined);
        throw errorForEra(context.era, method, error);
      }
    },
    dropped,
    drop,
    get parked() {
      return parked.size;
    },
    close: running.close,
  };
}

/** Calls that began and have not ended; what waits for its client is cancelled by `closeParked`. */
function holdRunning(closeParked: () => void): { add(call: AskedCall): void; close(): void } {
  const running = new Set<AskedCall>();
  return {
    add(call) {
      running.add(call);
      void call.ended.then(() => running.delete(call));
    },
    close() {
      closeParked();
      for (const call of running) call.cancel(new Error('The agent-server stops'));
    },
  };
}

function claimOf(method: string, params: Params, context: CallContext): Claim {
  const digest = digestOfCall(method, params);
  return { user: userOf(context), digest, anonymous: isAnonymous(context) };
}

function parkLimits({ parkTtlMs, maxParkedCalls, maxParkedCallsPerUser }: Settings) {
  return { ttlMs: parkTtlMs, max: maxParkedCalls, maxPerUser: maxParkedCallsPerUser };
}

function countDropped(): Pick<Bridge, 'dropped' | 'drop'> {
  const dropped: Record<DroppedKind, number> = { progress: 0, log: 0, elicitationComplete: 0 };
  const drop = (kind: DroppedKind) => {
    dropped[kind] += 1;
  };
  return { dropped, drop };
}

/** Only these can end with questions in 2026-07-28, and only for a client that declared some. */
function mayBeAsked(method: string, { capabilities }: CallContext): boolean {
  return isAskingMethod(method) && canBeAsked(capabilities);
}

/** What an error -32042 wants to be visited, for a client that can. The call has ended; its retry is a new one. */
function urlsToVisit(error: RpcError, { capabilities }: CallContext) {
  if (error.code !== errorCodes.urlElicitationRequired) return undefined;
  if (!mayAsk(capabilities, 'elicitation/create', { mode: 'url' })) return undefined;
  return urlQuestions(error);
}

/** Who calls, as far as it was proved; everybody else is one. */
export function userOf({ claims }: CallContext): string {
  return claims === undefined ? '' : JSON.stringify([claims.caller, claims.sub]);
}

/** Upstream session of the calls of one user with the same capabilities. */
export function sharedSession(user: string, capabilities: CallContext['capabilities'], lane = 0): string {
  const session = `stateless:${digestOf([user, capabilities], 32)}`;
  return lane === 0 ? session : `${session}#${lane}`;
}

function unknownState(): RpcError {
  return new RpcError(
    errorCodes.invalidParams,
    'Invalid params: requestState is not usable: no call of this kind waits for answers',
  );
}
