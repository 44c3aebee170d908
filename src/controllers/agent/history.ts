import { backoffDelay } from '#kit/backoff.ts';

/** Restarts without this long of Ready between them count towards the circuit breaker. Milliseconds. */
const stableAfterMs = 60_000;
/** Restarts that may fail in a row; the end after the last of them halts the Agent. */
const restartsBeforeHalt = 5;
const restartBackoff = { initial: 1_000, max: 30_000 };

/**
 * What the controller remembers of an Agent's starts and ends: all that backoff and circuit breaker need.
 * It belongs to one spec: a changed spec (or restart annotation) begins a new history.
 */
export interface RunHistory {
  /** Spec it belongs to; undefined until an instance with a known spec was seen. */
  readonly specHash: string | undefined;
  /** Ends in a row without `stableAfterMs` of Ready between. */
  readonly failures: number;
  /** Ends seen in all, over every spec; shown as `status.restarts`. */
  readonly restarts: number;
  /** uid of the instance whose end was counted last, so that no end counts twice. */
  readonly countedInstance: string | undefined;
  /** When the last end happened, in milliseconds since the epoch. */
  readonly endedAt: number;
  /** The instance that is Ready now and since when; undefined while none is. */
  readonly ready: { readonly instance: string; readonly since: number } | undefined;
}

export const emptyHistory: RunHistory = {
  specHash: undefined,
  failures: 0,
  restarts: 0,
  countedInstance: undefined,
  endedAt: 0,
  ready: undefined,
};

/** The history a fresh controller begins with: what status says is all that is left of the old one. */
export function historyFromStatus(restarts: number, halted: boolean): RunHistory {
  return { ...emptyHistory, restarts, failures: halted ? restartsBeforeHalt + 1 : 0 };
}

/** Begins anew when `specHash` is another than the history's; learns the hash when it knew none. */
export function forSpec(history: RunHistory, specHash: string): RunHistory {
  if (history.specHash === specHash) return history;
  if (history.specHash === undefined) return { ...history, specHash };
  return { ...emptyHistory, restarts: history.restarts, countedInstance: history.countedInstance, specHash };
}

/** Counts the end of `instance` once. A stable run before it makes this the first failure again. */
export function recordEnd(history: RunHistory, instance: string, at: number): RunHistory {
  if (history.countedInstance === instance) return history;
  const stable = history.ready?.instance === instance && at - history.ready.since >= stableAfterMs;
  return {
    ...history,
    failures: stable ? 1 : history.failures + 1,
    restarts: history.restarts + 1,
    countedInstance: instance,
    endedAt: at,
    ready: undefined,
  };
}

/** Notes since when `instance` is Ready, or that none is. */
export function recordReady(history: RunHistory, instance: string | undefined, now: number): RunHistory {
  if (history.ready?.instance === instance) return history;
  return { ...history, ready: instance === undefined ? undefined : { instance, since: now } };
}

export function isHalted(history: RunHistory): boolean {
  return history.failures > restartsBeforeHalt;
}

/** Milliseconds until the next start is due; 0 when it may start now. */
export function startDelay(history: RunHistory, now: number): number {
  return Math.max(0, history.endedAt + backoffDelay(restartBackoff, history.failures) - now);
}
