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
  /** Ends in a row without `stableAfterMs` of Ready between, of the replica that has the most. */
  readonly failures: number;
  /** The same of each replica; '' stands for what an earlier controller has left. */
  readonly failuresBySlot: Readonly<Record<string, number>>;
  /** Ends seen in all, over every spec; shown as `status.restarts`. */
  readonly restarts: number;
  /** How many ends of each instance were counted, so that none counts twice. Holds the instances of the last look. */
  readonly counted: Readonly<Record<string, number>>;
  /** When the last end happened, in milliseconds since the epoch. */
  readonly endedAt: number;
  /** The instances that are Ready now, and since when each. */
  readonly readySince: Readonly<Record<string, number>>;
}

/** The ends of one instance: a sandbox ends once, the containers of a pod again and again. */
export interface Ends {
  readonly instance: string;
  /** Replica that the instance stands for. Default: the only one. */
  readonly slot?: number | undefined;
  readonly count: number;
  /** When the last of them happened, in milliseconds since the epoch. */
  readonly at: number;
}

export const emptyHistory: RunHistory = {
  specHash: undefined,
  failures: 0,
  failuresBySlot: {},
  restarts: 0,
  counted: {},
  endedAt: 0,
  readySince: {},
};

/** The history a fresh controller begins with: what status says is all that is left of the old one. */
export function historyFromStatus(restarts: number, halted: boolean): RunHistory {
  const failures = halted ? restartsBeforeHalt + 1 : 0;
  return { ...emptyHistory, restarts, failures, failuresBySlot: { '': failures } };
}

/** Begins anew when `specHash` is another than the history's; learns the hash when it knew none. */
export function forSpec(history: RunHistory, specHash: string): RunHistory {
  if (history.specHash === specHash) return history;
  if (history.specHash === undefined) return { ...history, specHash };
  return { ...emptyHistory, restarts: history.restarts, counted: history.counted, specHash };
}

/** Counts the ends of an instance that were not counted yet. A stable run before them makes these the first failures again. */
export function recordEnds(history: RunHistory, { instance, slot = 0, count, at }: Ends): RunHistory {
  const fresh = count - (history.counted[instance] ?? 0);
  if (fresh <= 0) return history;
  const since = history.readySince[instance];
  const wasStable = since !== undefined && at - since >= stableAfterMs;
  const { [instance]: _ended, ...readySince } = history.readySince;
  return {
    ...history,
    ...withFailures(history, slot, wasStable ? fresh : (history.failuresBySlot[slot] ?? 0) + fresh),
    restarts: history.restarts + fresh,
    counted: { ...history.counted, [instance]: count },
    endedAt: Math.max(history.endedAt, at),
    readySince,
  };
}

/** Takes ends as counted that an earlier controller has counted. `inARow` of them had no stable run after them. */
export function adoptEnds(
  history: RunHistory,
  { instance, slot = 0, count, at }: Ends,
  inARow: number,
): RunHistory {
  return {
    ...history,
    ...withFailures(history, slot, Math.max(history.failuresBySlot[slot] ?? 0, inARow)),
    restarts: Math.max(history.restarts, count),
    counted: { ...history.counted, [instance]: count },
    endedAt: Math.max(history.endedAt, at),
  };
}

/** One replica that fails again and again is one; six that fail once each are none. */
function withFailures(
  { failuresBySlot }: RunHistory,
  slot: number,
  failures: number,
): Pick<RunHistory, 'failures' | 'failuresBySlot'> {
  const bySlot: Record<string, number> = { ...failuresBySlot, [slot]: failures };
  return { failures: Math.max(...Object.values(bySlot)), failuresBySlot: bySlot };
}

/** Forgets instances that others have replaced; while there is none nothing is forgotten. */
export function keepInstances(history: RunHistory, instances: readonly string[]): RunHistory {
  if (instances.length === 0) return history;
  const gone = Object.keys(history.counted).filter((instance) => !instances.includes(instance));
  if (gone.length === 0) return history;
  const counted = Object.fromEntries(
    Object.entries(history.counted).filter(([instance]) => !gone.includes(instance)),
  );
  return { ...history, counted };
}

/** Notes which instances are Ready now; one that was before keeps its time. */
export function recordReady(history: RunHistory, instances: readonly string[], now: number): RunHistory {
  const known = Object.keys(history.readySince);
  if (known.length === instances.length && instances.every((instance) => known.includes(instance))) {
    return history;
  }
  const readySince = Object.fromEntries(
    instances.map((instance) => [instance, history.readySince[instance] ?? now]),
  );
  return { ...history, readySince };
}

export function isHalted(history: RunHistory): boolean {
  return history.failures > restartsBeforeHalt;
}

/** Milliseconds until the next start is due; 0 when it may start now. */
export function startDelay(history: RunHistory, now: number): number {
  return Math.max(0, history.endedAt + backoffDelay(restartBackoff, history.failures) - now);
}
