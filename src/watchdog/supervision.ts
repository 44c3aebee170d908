import { backoffDelay } from '#kit/backoff.ts';
import type { EventFields, Level, WatchdogEvent } from './events.ts';
import { breakerExitCode, configurationExitCode, type WatchdogSettings } from './settings.ts';

/** What the watchdog knows of one child. Times: `now` is wall clock, `monotonic` is not; both milliseconds. */
export interface ChildState {
  readonly phase: 'idle' | 'running' | 'terminating' | 'waiting' | 'ended';
  readonly pid?: number | undefined;
  /** Monotonic time of the start of this run. */
  readonly startedAt: number;
  /** Short runs in a row. */
  readonly failures: number;
  /** Wall-clock times of the restarts within the window; they survive the watchdog. */
  readonly restarts: readonly number[];
  /** Failed health checks in a row. */
  readonly failedChecks: number;
}

export type ChildEvent =
  | { readonly type: 'start' }
  | { readonly type: 'spawned'; readonly pid: number }
  | { readonly type: 'spawn-failed'; readonly message: string }
  | { readonly type: 'exited'; readonly code: number | null; readonly signal: string | null }
  | { readonly type: 'checked'; readonly healthy: boolean; readonly message?: string | undefined }
  | { readonly type: 'restart-due' }
  | { readonly type: 'stop' };

export type ChildAction =
  | { readonly do: 'spawn' }
  | { readonly do: 'wait'; readonly ms: number }
  /** SIGTERM now, SIGKILL after the grace. */
  | { readonly do: 'terminate' }
  /** The workspace cannot go on: end everything, exit with the code. */
  | { readonly do: 'give-up'; readonly exitCode: number; readonly reason: string }
  | {
      readonly do: 'log';
      readonly level: Level;
      readonly event: WatchdogEvent;
      readonly fields?: EventFields;
    };

export interface Moment {
  readonly now: number;
  readonly monotonic: number;
  /** Uniform in [0, 1): where in the jitter's range the next delay lies. */
  readonly fraction: number;
}

export interface Step {
  readonly state: ChildState;
  readonly actions: readonly ChildAction[];
}

/** A child that was never started. `restarts` are those that an earlier watchdog made. */
export function idleChild(restarts: readonly number[] = []): ChildState {
  return { phase: 'idle', startedAt: 0, failures: 0, restarts, failedChecks: 0 };
}

/** The next state of a child and what to do. Pure. An event that means nothing in this phase changes nothing. */
export function supervise(
  state: ChildState,
  event: ChildEvent,
  at: Moment,
  settings: WatchdogSettings,
): Step {
  switch (event.type) {
    case 'start':
      return state.phase === 'idle' ? { state, actions: [{ do: 'spawn' }] } : same(state);
    case 'spawned':
      return running(state, event.pid, at);
    case 'spawn-failed':
      return state.phase === 'ended' ? same(state) : failedToSpawn(state, event.message, at, settings);
    case 'exited':
      return exited(state, event, at, settings);
    case 'checked':
      return state.phase === 'running' ? checked(state, event, settings) : same(state);
    case 'restart-due':
      return state.phase === 'waiting' ? restart(state, at, settings) : same(state);
    case 'stop':
      return stop(state);
  }
}

function same(state: ChildState): Step {
  return { state, actions: [] };
}

function running(state: ChildState, pid: number, at: Moment): Step {
  const actions = [log('info', 'server_spawned', { pid })];
  // A stop that came between the order to spawn and its success.
  if (state.phase === 'ended')
    return { state: { ...state, pid }, actions: [...actions, { do: 'terminate' }] };
  return { state: { ...state, phase: 'running', pid, startedAt: at.monotonic, failedChecks: 0 }, actions };
}

function exited(
  state: ChildState,
  { code, signal }: { code: number | null; signal: string | null },
  at: Moment,
  settings: WatchdogSettings,
): Step {
  const gone: ChildState = { ...state, pid: undefined, failedChecks: 0 };
  const uptimeMs = Math.round(at.monotonic - state.startedAt);
  const seen = log('info', 'process_exited', { pid: state.pid, code, signal, uptimeMs });
  if (state.phase === 'ended') return { state: gone, actions: [seen] };
  const final = state.phase === 'running' ? reasonToEnd(code, signal) : undefined;
  if (final !== undefined) return giveUp(gone, [seen, ...final.logs], final.exitCode, final.reason);
  const unexpected = log('warn', 'unexpected_exit', { pid: state.pid, code, signal, uptimeMs });
  const asked = state.phase === 'terminating';
  return again(
    gone,
    [seen, ...(asked ? [] : [unexpected])],
    uptimeMs >= settings.successfulRun,
    at,
    settings,
  );
}

/** Exits that no restart may follow: a clean one, a signal that somebody sent, a code that says so. */
function reasonToEnd(code: number | null, signal: string | null) {
  if (signal === 'SIGTERM' || signal === 'SIGINT') {
    return ending('intentional_signal', 'info', 0, `ended by ${signal}`, { signal });
  }
  if (code === 0) return ending('clean_exit', 'info', 0, 'ended by itself', {});
  if (code === configurationExitCode) {
    return ending('configuration_error', 'error', code, 'refused its configuration', { code });
  }
  if (code !== null && code >= 100) {
    return ending('fatal_error_no_restart', 'error', code, `failed for good (exit code ${code})`, { code });
  }
  return undefined;
}

function ending(event: WatchdogEvent, level: Level, exitCode: number, reason: string, fields: EventFields) {
  const logs: ChildAction[] = [log(level, event, fields), log('info', 'restart_skipped', { reason })];
  return { exitCode, reason, logs };
}

function failedToSpawn(state: ChildState, message: string, at: Moment, settings: WatchdogSettings): Step {
  return again({ ...state, pid: undefined }, [log('error', 'spawn_error', { message })], false, at, settings);
}

/** Waits for the next try, or trips the breaker when there were too many. */
function again(
  state: ChildState,
  logs: readonly ChildAction[],
  successful: boolean,
  at: Moment,
  settings: WatchdogSettings,
): Step {
  const restarts = recentRestarts(state.restarts, at.now, settings);
  if (restarts.length >= settings.maxRestarts) return trip({ ...state, restarts }, logs, settings);
  const failures = successful ? 0 : state.failures + 1;
  const ms = successful ? settings.quickRestart : backoffDelay(settings.backoff, failures, at.fraction);
  const success = successful ? [log('info', 'successful_run_detected', {})] : [];
  const scheduled = log('info', 'scheduling_restart', {
    delayMs: Math.round(ms),
    restartsInWindow: restarts.length,
  });
  return {
    state: { ...state, phase: 'waiting', failures, restarts },
    actions: [...logs, ...success, scheduled, { do: 'wait', ms }],
  };
}

function restart(state: ChildState, at: Moment, settings: WatchdogSettings): Step {
  const restarts = [...recentRestarts(state.restarts, at.now, settings), at.now];
  return { state: { ...state, restarts }, actions: [{ do: 'spawn' }] };
}

function trip(state: ChildState, logs: readonly ChildAction[], settings: WatchdogSettings): Step {
  const fields = { restarts: state.restarts.length, windowMs: settings.restartWindow };
  const tripped = log('error', 'circuit_breaker_tripped', fields);
  const reason = `needed more than ${settings.maxRestarts} restarts in ${settings.restartWindow / 1000} s`;
  return giveUp(state, [...logs, tripped], breakerExitCode, reason);
}

function giveUp(state: ChildState, logs: readonly ChildAction[], exitCode: number, reason: string): Step {
  return { state: { ...state, phase: 'ended' }, actions: [...logs, { do: 'give-up', exitCode, reason }] };
}

/** Restarts of the last window. Times in the future (the wall clock went back) do not count. */
export function recentRestarts(
  restarts: readonly number[],
  now: number,
  settings: WatchdogSettings,
): readonly number[] {
  return restarts.filter((time) => time <= now && now - time < settings.restartWindow);
}

function checked(
  state: ChildState,
  { healthy, message }: { healthy: boolean; message?: string | undefined },
  settings: WatchdogSettings,
): Step {
  const { pid } = state;
  if (healthy) {
    const recovered = log('info', 'health_check_recovered', { pid, failures: state.failedChecks });
    return { state: { ...state, failedChecks: 0 }, actions: state.failedChecks > 0 ? [recovered] : [] };
  }
  const failures = state.failedChecks + 1;
  const failed = log('warn', 'health_check_failed', { pid, failures, message });
  if (failures < settings.health.threshold) {
    return { state: { ...state, failedChecks: failures }, actions: [failed] };
  }
  const exceeded = log('error', 'health_check_threshold_exceeded', { pid, failures });
  const restarting = log('warn', 'health_check_restart', { pid });
  return {
    state: { ...state, phase: 'terminating', failedChecks: failures },
    actions: [failed, exceeded, restarting, { do: 'terminate' }],
  };
}

function stop(state: ChildState): Step {
  const alive = state.phase === 'running' || state.phase === 'terminating';
  return { state: { ...state, phase: 'ended' }, actions: alive ? [{ do: 'terminate' }] : [] };
}

function log(level: Level, event: WatchdogEvent, fields: EventFields): ChildAction {
  return { do: 'log', level, event, fields };
}
