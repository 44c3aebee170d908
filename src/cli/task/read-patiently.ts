import type { Clock } from '#kit/clock.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Router } from '../router.ts';
import type { LiveTask } from './live-task.ts';

/** Milliseconds between two looks at a task. */
export const lookMs = 500;
/** How often in a row nobody may tell of it: its agent, or the router, may just be starting again. */
export const mostMissed = 60;

export interface PatientRead {
  readonly clock: Clock;
  readonly router: Router;
  readonly signal: AbortSignal;
  /** Reads it at the router, wherever that is now. */
  readonly read: (router: Router) => Promise<LiveTask | undefined>;
}

/**
 * As `read`, and asks again while the router cannot be reached, which may be at another URL then. Throws
 * `notRunning` when it stays away.
 */
export async function readPatiently({
  clock,
  router,
  signal,
  read,
}: PatientRead): Promise<LiveTask | undefined> {
  let { url } = router;
  for (let missed = 0; ; missed += 1) {
    try {
      return await read({ ...router, url });
    } catch (error) {
      const away = error instanceof CliError && error.exitCode === exitCodes.notRunning;
      if (!away || missed === mostMissed) throw error;
    }
    await clock.sleep(lookMs, signal);
    url = (await router.relocate?.().catch(() => undefined)) ?? url;
  }
}
