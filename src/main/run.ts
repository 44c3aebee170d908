import type { Log } from '#kit/log.ts';

/** Something that runs until it is ended. */
export interface Running {
  close(): Promise<void>;
}

export interface LifeOptions {
  /**
   * The parent holds the other side of standard input, so that a parent that is gone, however it went, ends this
   * process; with `none` (a container, whose standard input is empty) only signals do.
   */
  readonly parent: 'watchdog' | 'none';
}

/**
 * The life of a process: start, run, and end on SIGTERM, SIGINT or, below the watchdog, the end of standard input.
 * Exits with 0 after a clean end and with 1 when the start or the end fails.
 */
export function runUntilEnded(
  log: Log,
  start: () => Promise<Running>,
  { parent }: LifeOptions = { parent: 'watchdog' },
): void {
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
  if (parent === 'watchdog') {
    process.stdin.on('end', () => end('standard input ended'));
    process.stdin.on('error', () => end('standard input failed'));
    process.stdin.resume();
  }
  started.catch((error: unknown) => {
    if (ended === undefined) fail('cannot start', error);
  });
}
