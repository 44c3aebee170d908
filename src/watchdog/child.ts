import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Random } from '#kit/random.ts';
import type { Journal } from './events.ts';
import type { HealthCheck, HealthResult, HealthTarget } from './health.ts';
import type { RotatingLog } from './rotating-log.ts';
import type { WatchdogSettings } from './settings.ts';
import type { ProgramSpec, RunningProgram, SpawnProgram } from './spawn.ts';
import { type ChildAction, type ChildEvent, idleChild, supervise } from './supervision.ts';

export interface ChildSpec {
  /** Names it in watchdog.log and its own log. */
  readonly name: string;
  readonly program: ProgramSpec;
  /** Asked regularly; a child without one is judged by its life alone. */
  readonly health?: HealthTarget;
}

export interface ChildDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: WatchdogSettings;
  readonly journal: Journal;
  readonly output: RotatingLog;
  readonly spawn: SpawnProgram;
  readonly checkHealth: HealthCheck;
  /** Restarts that an earlier watchdog made, wall clock. */
  readonly restarts: readonly number[];
  /** Called with the restarts to remember whenever there is one more. */
  readonly onRestart: (restarts: readonly number[]) => void;
  readonly onGiveUp: (exitCode: number, reason: string) => void;
}

export interface Child {
  readonly name: string;
  start(): void;
  /** SIGTERM, after the grace SIGKILL. Resolves when it is gone; no restart follows. */
  stop(): Promise<void>;
  readonly pid: () => number | undefined;
}

/** Carries out what `supervise` decides for one child. */
export function createChild(spec: ChildSpec, deps: ChildDependencies): Child {
  let state = idleChild(deps.restarts);
  let program: RunningProgram | undefined;
  let run: Promise<void> = Promise.resolve();
  let cancelDelay = () => {};
  const journal: Journal = (level, event, fields) =>
    deps.journal(level, event, { server: spec.name, ...fields });

  const send = (event: ChildEvent): void => {
    const { clock, random } = deps;
    const at = { now: clock.now(), monotonic: clock.monotonic(), fraction: random.fraction() };
    const step = supervise(state, event, at, deps.settings);
    const restarted = step.state.restarts !== state.restarts;
    state = step.state;
    if (restarted) deps.onRestart(state.restarts);
    for (const action of step.actions) act(action);
  };

  const act = (action: ChildAction): void => {
    if (action.do === 'log') journal(action.level, action.event, action.fields);
    if (action.do === 'spawn') run = runOnce();
    if (action.do === 'wait') cancelDelay = deps.clock.after(action.ms, () => send({ type: 'restart-due' }));
    if (action.do === 'terminate' && program !== undefined) terminate(program, journal, deps);
    if (action.do === 'give-up') deps.onGiveUp(action.exitCode, action.reason);
  };

  const runOnce = async (): Promise<void> => {
    journal('info', 'spawning_server');
    try {
      program = await deps.spawn(spec.program, deps.output);
    } catch (error) {
      send({ type: 'spawn-failed', message: messageOf(error) });
      return;
    }
    send({ type: 'spawned', pid: program.pid });
    const stopChecks = watchHealth(spec.health, deps, (result) => send({ type: 'checked', ...result }));
    const { code, signal } = await program.exited;
    stopChecks();
    program = undefined;
    send({ type: 'exited', code, signal });
  };

  return {
    name: spec.name,
    start: () => send({ type: 'start' }),
    stop: async () => {
      cancelDelay();
      send({ type: 'stop' });
      await run;
    },
    pid: () => state.pid,
  };
}

function terminate(program: RunningProgram, journal: Journal, { clock, settings }: ChildDependencies): void {
  journal('info', 'stopping_child_process', { pid: program.pid });
  program.kill('SIGTERM');
  const cancel = clock.after(settings.killGrace, () => {
    journal('warn', 'force_killing_child', { pid: program.pid });
    program.kill('SIGKILL');
  });
  void program.exited.then(cancel);
}

/** Reports one check after another until the returned function is called; one starts when the last is over. */
function watchHealth(
  target: HealthTarget | undefined,
  { clock, settings, checkHealth }: ChildDependencies,
  report: (result: HealthResult) => void,
): () => void {
  if (target === undefined || !settings.health.enabled) return () => {};
  let stopped = false;
  const check = async () => {
    const result = await checkHealth(target, settings.health.timeout);
    if (stopped) return;
    report(result);
    cancel = clock.after(settings.health.every, () => void check());
  };
  let cancel = clock.after(settings.health.firstAfter, () => void check());
  return () => {
    stopped = true;
    cancel();
  };
}
