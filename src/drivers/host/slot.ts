import type { Workload, WorkloadId } from '../workload.ts';
import type { RunPlaces } from './places.ts';
import type { Run } from './run.ts';

/** What the driver knows of one workload between two calls. */
export interface Slot {
  readonly id: WorkloadId;
  readonly at: RunPlaces;
  /** Latest run, going on or over. */
  run: Run | undefined;
  /** A start under way: installing, preparing folders, waiting for the shim. */
  start: StartAttempt | undefined;
  /** Why the latest start never got as far as a run. */
  failure: StartFailure | undefined;
  /** The run's end, or the failure, was told to whoever asks: only then may it be started again. */
  isEndTold: boolean;
  /** Last lines of the log when the run ended. */
  tail: string;
  removal: Promise<void> | undefined;
  isRemoved: boolean;
}

/** Told as an instance that ended, so that whoever counts ends counts this one too. */
export interface StartFailure {
  readonly instance: string;
  readonly specHash: string;
  readonly startedAt: number;
  readonly at: number;
  readonly reason?: string;
  readonly message: string;
}

export interface StartAttempt {
  readonly workload: Workload;
  readonly instance: string;
  readonly startedAt: number;
  /** Aborted when the workload is removed or changes before it runs. */
  readonly cancel: AbortController;
  phase: 'Installing' | 'Starting';
}

export function newSlot(id: WorkloadId, at: RunPlaces): Slot {
  return {
    id,
    at,
    run: undefined,
    start: undefined,
    failure: undefined,
    isEndTold: false,
    tail: '',
    removal: undefined,
    isRemoved: false,
  };
}

/** An end that was not the driver's own doing has to be told before the workload is started again. */
export function hasUntoldEnd({ isEndTold, failure, run }: Slot): boolean {
  return !isEndTold && (failure !== undefined || (run !== undefined && !run.isStopAsked));
}
