import type { Log } from '#kit/log.ts';

/** Something that runs until it is ended. */
export interface Running {
  close(): Promise<void>;
}

/**
 * The life of a process below the watchdog: start, run, and end on SIGTERM, SIGINT or the end of standard input (the
 * watchdog holds the other side, so a watchdog that is gone, however it went, ends its children). Exits with 0 after
 * a clean end and with 1 when the start or the end fails.
 */
export function runUntilEnded(log: Log, start: () => Promise<Running>): void {
  let ended: string | undefined;
  const started = start();
  const end = (reason: string) => {
    if (ended !== undefined) return;
    ended = reason;
    log.info('ending', { reason });
    started
      .then((running) => running.close())
      .then(
        () => process.exit(0),
        (error: unknown) => fail('cannot end', error),
      );
  };
  const fail = (message: string, error: unknown) => {
    log.error(message, { error });
    process.exit(1);
  };
  process.on('SIGTERM', () => end('SIGTERM'));
  process.on('SIGINT', () => end('SIGINT'));
  process.stdin.on('end', () => end('standard input ended'));
  process.stdin.on('error', () => end('standard input failed'));
  process.stdin.resume();
  started.catch((error: unknown) => {
    if (ended === undefined) fail('cannot start', error);
  });
}
