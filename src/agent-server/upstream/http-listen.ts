import { type BackoffOptions, backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { HttpAnswer, Resume } from './http-exchange.ts';

export interface StreamOptions {
  readonly clock: Clock;
  /** Gets the session's stream and reads it to its end. */
  get(lastEventId: string | undefined): Promise<HttpAnswer>;
  /** The stream begins anew, and something may have been told in between. */
  onMissed(): void;
  /** The server could not be reached twice in a row. */
  onLost(reason: string): void;
}

/** Says nothing of whether the server is there: calls go on, and the next look at the server decides. */
const ofThisAlone: ReadonlySet<string | undefined> = new Set(['UpstreamBusy', 'UpstreamUnauthorized']);

const again: BackoffOptions = { initial: 1000, max: 60_000, jitter: 0 };
/** Milliseconds after which a stream that ends is no failure. */
const stableMs = 5000;

/** Follows the own stream of a session for as long as the server has one (else it answers 405 or an error). */
export async function followStream(options: StreamOptions, signal: AbortSignal): Promise<void> {
  const { clock } = options;
  let resume: Resume | undefined;
  let short = 0;
  let unreached = 0;
  for (let first = true; !signal.aborted; first = false) {
    if (!first && resume === undefined) options.onMissed();
    const begun = clock.monotonic();
    try {
      const answer = await options.get(resume?.lastEventId);
      if (!isStream(answer)) return;
      resume = answer.resume ?? resume;
      unreached = 0;
    } catch (error) {
      resume = undefined;
      if (signal.aborted) return;
      if (!ofThisAlone.has(codeOf(error))) unreached += 1;
      if (unreached > 1) return options.onLost(messageOf(error));
    }
    short = clock.monotonic() - begun > stableMs ? 0 : short + 1;
    const pause = Math.max(resume?.retryMs ?? 0, backoffDelay(again, short, 0));
    await clock.sleep(pause, signal).catch(() => undefined);
  }
}

function isStream({ status, headers }: HttpAnswer): boolean {
  return status === 200 && (headers['content-type']?.startsWith('text/event-stream') ?? false);
}
