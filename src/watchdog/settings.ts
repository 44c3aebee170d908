import type { BackoffOptions } from '#kit/backoff.ts';

/** Times in milliseconds. */
export interface WatchdogSettings {
  /** Delay before restart number 1, 2, 3… of a row of short runs: 1, 2, 4, 8, 16, 30, 30 s, each ±10 %. */
  readonly backoff: BackoffOptions;
  /** A run this long counts as successful: the row of short runs is over. */
  readonly successfulRun: number;
  /** Delay before the restart that follows a successful run. */
  readonly quickRestart: number;
  /** This many restarts within `restartWindow` are made; one more trips the breaker. */
  readonly maxRestarts: number;
  readonly restartWindow: number;
  readonly health: {
    readonly enabled: boolean;
    /** From the start of a child to its first check. */
    readonly firstAfter: number;
    readonly every: number;
    readonly timeout: number;
    /** So many failures in a row restart the child. */
    readonly threshold: number;
  };
  /** From SIGTERM to SIGKILL. */
  readonly killGrace: number;
  /** How long sandboxes may take to end by themselves after the lease said `down`. */
  readonly workloadGrace: number;
  /** How long the first child may take to be ready before the others are started all the same. */
  readonly startTimeout: number;
}

export const defaultSettings: WatchdogSettings = {
  backoff: { initial: 1000, max: 30_000, factor: 2, jitter: 0.1 },
  successfulRun: 60_000,
  quickRestart: 100,
  maxRestarts: 5,
  restartWindow: 60_000,
  health: { enabled: true, firstAfter: 10_000, every: 30_000, timeout: 5000, threshold: 3 },
  killGrace: 15_000,
  workloadGrace: 15_000,
  startTimeout: 20_000,
};

/** What the watchdog exits with when a child needed more restarts than allowed. */
export const breakerExitCode = 100;
/** What a child exits with when no restart can help: its configuration is wrong. */
export const configurationExitCode = 2;

/**
 * The defaults, changed by `HEALTH_CHECK_ENABLED=false` and by the variables below (whole numbers).
 * Throws with the variable's name when a value is no such number.
 */
export function settingsFromEnvironment(env: Readonly<Record<string, string | undefined>>): WatchdogSettings {
  const base = defaultSettings;
  const number = (name: string, fallback: number) => wholeNumber(name, env[name], fallback);
  return {
    ...base,
    backoff: { ...base.backoff, initial: number('PLOINKY_WATCHDOG_BACKOFF_MS', base.backoff.initial) },
    maxRestarts: number('PLOINKY_WATCHDOG_MAX_RESTARTS', base.maxRestarts),
    restartWindow: number('PLOINKY_WATCHDOG_RESTART_WINDOW_MS', base.restartWindow),
    killGrace: number('PLOINKY_WATCHDOG_KILL_GRACE_MS', base.killGrace),
    workloadGrace: number('PLOINKY_WATCHDOG_WORKLOAD_GRACE_MS', base.workloadGrace),
    health: {
      ...base.health,
      enabled: env['HEALTH_CHECK_ENABLED'] !== 'false',
      every: number('PLOINKY_WATCHDOG_HEALTH_INTERVAL_MS', base.health.every),
      firstAfter: number('PLOINKY_WATCHDOG_HEALTH_FIRST_MS', base.health.firstAfter),
      timeout: number('PLOINKY_WATCHDOG_HEALTH_TIMEOUT_MS', base.health.timeout),
    },
  };
}

function wholeNumber(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined || text === '') return fallback;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${name} must be a whole number, not "${text}"`);
  return Number(text);
}
