import type { ChildProcess } from 'node:child_process';
import { type BackoffOptions, backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import { endChild, startChild } from './child-command.ts';

export interface MainProcessOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Milliseconds between SIGTERM and SIGKILL when it is to end. */
  readonly graceMs: number;
}

export interface MainProcess {
  stop(): Promise<void>;
}

const restart: BackoffOptions = { initial: 1000, max: 30_000, jitter: 0.1 };
/** Milliseconds of life after which an end counts as the first one again. */
const stableMs = 60_000;

/** Keeps the agent's own process running: restarts it whenever it ends, ever more slowly. */
export function superviseMainProcess(options: MainProcessOptions): MainProcess {
  const { clock, log, random } = options;
  let child: ChildProcess | undefined;
  let failures = 0;
  let stopped = false;
  let cancelRestart = () => {};

  function start(): void {
    const startedAt = clock.monotonic();
    const started = startChild({ ...options, stdio: ['ignore', 'inherit', 'inherit'] });
    child = started;
    let over = false;
    const onEnd = (detail: string) => {
      if (over || stopped) return;
      over = true;
      failures = clock.monotonic() - startedAt > stableMs ? 1 : failures + 1;
      const delay = backoffDelay(restart, failures, random.fraction());
      log.warn("The agent's own process ended", { detail, restartInMs: Math.round(delay) });
      cancelRestart = clock.after(delay, start);
    };
    started.once('error', (error) => onEnd(error.message));
    started.once('exit', (code, signal) => onEnd(signal === null ? `exit code ${code}` : `signal ${signal}`));
    log.info("The agent's own process starts", { command: options.command[0], pid: started.pid });
  }
  start();
  return {
    async stop() {
      stopped = true;
      cancelRestart();
      if (child !== undefined) await endChild(child, clock, options.graceMs);
    },
  };
}
