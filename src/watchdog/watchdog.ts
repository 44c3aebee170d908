import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';
import { type Child, type ChildSpec, createChild } from './child.ts';
import type { Journal } from './events.ts';
import type { HealthCheck } from './health.ts';
import { keepLease, type LeaseKeeper, type WriteLease } from './lease-keeper.ts';
import type { RotatingLog } from './rotating-log.ts';
import type { WatchdogSettings } from './settings.ts';
import type { SpawnProgram } from './spawn.ts';

export interface WatchdogOptions {
  /**
   * In order of start. The others are started when the first one is healthy; on the way down the last one
   * ends first and the first one last.
   */
  readonly children: readonly ChildSpec[];
  readonly settings: WatchdogSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly journal: Journal;
  readonly outputFor: (name: string) => RotatingLog;
  readonly spawn: SpawnProgram;
  readonly checkHealth: HealthCheck;
  readonly lease: { readonly write: WriteLease; readonly intervalMs: number };
  /** Waits for the sandboxes to end and kills what does not; the number of those that survived. */
  readonly endWorkloads: (onKill: (shim: { readonly pid: number }) => void) => Promise<number>;
  readonly history: RestartHistory;
}

/** Restarts by child, wall clock; kept on disk, so that a new watchdog counts on from there. */
export interface RestartHistory {
  readonly loaded: Readonly<Record<string, readonly number[]>>;
  save(restarts: Readonly<Record<string, readonly number[]>>): void;
}

export interface Watchdog {
  /** Resolves once every child with a health address has answered; rejects with the reason when it gave up. */
  readonly ready: Promise<void>;
  /** Resolves with the exit code when all has ended, because it was told to or because it gave up. */
  readonly ended: Promise<number>;
  /** Ends the sandboxes, then the children. */
  stop(reason: string): void;
}

/** Starts the workspace's processes and keeps them running until told to stop or until a breaker trips. */
export async function startWatchdog(options: WatchdogOptions): Promise<Watchdog> {
  const { clock, journal } = options;
  journal('info', 'process_manager_starting', { servers: options.children.map((child) => child.name) });
  const lease = await keepLease(options.lease.write, {
    clock,
    journal,
    intervalMs: options.lease.intervalMs,
  });
  const stopping = Promise.withResolvers<{ exitCode: number; reason: string }>();
  const children = createChildren(options, (name, exitCode, reason) =>
    stopping.resolve({ exitCode, reason: `${name} ${reason}` }),
  );
  const halted = stopping.promise.then(({ reason }) => Promise.reject(new Error(reason)));
  halted.catch(() => undefined);
  const ready = Promise.race([startChildren(children, options, stopping.promise), halted]);
  ready.catch(() => undefined);
  const ended = stopping.promise.then(async ({ exitCode, reason }) => {
    journal('info', 'watchdog_shutting_down', { reason });
    await shutDown(children, lease, options);
    journal('info', 'watchdog_exiting', { exitCode });
    return exitCode;
  });
  return { ready, ended, stop: (reason) => stopping.resolve({ exitCode: 0, reason }) };
}

function createChildren(
  options: WatchdogOptions,
  onGiveUp: (name: string, exitCode: number, reason: string) => void,
): Child[] {
  const history = { ...options.history.loaded };
  return options.children.map((spec) =>
    createChild(spec, {
      ...options,
      output: options.outputFor(spec.name),
      restarts: history[spec.name] ?? [],
      onRestart: (restarts) => {
        history[spec.name] = restarts;
        options.history.save(history);
      },
      onGiveUp: (exitCode, reason) => onGiveUp(spec.name, exitCode, reason),
    }),
  );
}

async function startChildren(
  children: readonly Child[],
  options: WatchdogOptions,
  stopping: Promise<unknown>,
): Promise<void> {
  let stopped = false;
  void stopping.then(() => {
    stopped = true;
  });
  const { clock, settings } = options;
  const [first, ...others] = children;
  first?.start();
  const deadline = clock.monotonic() + settings.startTimeout;
  await becomeHealthy(options.children.slice(0, 1), options, () => stopped || clock.monotonic() >= deadline);
  if (stopped) return;
  for (const child of others) child.start();
  await becomeHealthy(options.children, options, () => stopped);
}

/** Polls until every child with a health address has answered once, or `enough` says so. */
async function becomeHealthy(
  specs: readonly ChildSpec[],
  { clock, checkHealth, settings }: WatchdogOptions,
  enough: () => boolean,
): Promise<void> {
  for (const { health } of specs) {
    if (health === undefined) continue;
    while (!enough()) {
      const { healthy } = await checkHealth(health, settings.health.timeout);
      if (healthy) break;
      await clock.sleep(50);
    }
  }
}

/**
 * The reconciler first, so that it does not start again what ends, and with it the router, which lets running
 * calls finish; then the sandboxes, told by the lease; at last the API.
 */
async function shutDown(
  children: readonly Child[],
  lease: LeaseKeeper,
  { journal, ...options }: WatchdogOptions,
): Promise<void> {
  const [first, ...others] = children;
  await Promise.all(others.map((child) => child.stop()));
  journal('info', 'stopping_workloads');
  await lease.down();
  const left = await options.endWorkloads(({ pid }) => journal('warn', 'force_killing_workload', { pid }));
  await first?.stop();
  await lease.stop();
  journal('info', 'shutdown_complete', { workloadsLeft: left });
}
