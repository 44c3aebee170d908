import { type BackoffOptions, backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { AgentServerError } from '../errors.ts';

/** Keeps starts of something that keeps failing apart. */
export interface StartPace {
  /** Waits until the next start is due. Throws UpstreamLost at once when that is too long to wait. */
  due(signal: AbortSignal): Promise<void>;
  failed(reason: string): void;
  succeeded(): void;
  /** It is there. What is returned is to be told when it ends by itself: a failed start only if that is soon. */
  started(): (reason: string) => void;
}

const again: BackoffOptions = { initial: 50, max: 30_000, jitter: 0 };
/** Milliseconds of life after which an end is no failed start. */
const stableMs = 5000;
/** Longest pause, in milliseconds, that a call waits out instead of failing. */
const tolerableMs = 3000;

export function createStartPace(clock: Clock): StartPace {
  let failures = 0;
  let notBefore = 0;
  let last = '';

  function failed(reason: string): void {
    failures += 1;
    last = reason;
    notBefore = clock.monotonic() + backoffDelay(again, failures, 0);
  }
  function succeeded(): void {
    failures = 0;
  }
  return {
    async due(signal) {
      const pause = notBefore - clock.monotonic();
      if (failures === 0 || pause <= 0) return;
      if (pause > tolerableMs) {
        throw new AgentServerError('UpstreamLost', `The MCP server of this agent does not stay up: ${last}`);
      }
      await clock.sleep(pause, signal);
    },
    failed,
    succeeded,
    started() {
      const since = clock.monotonic();
      return (reason) => (clock.monotonic() - since < stableMs ? failed(reason) : succeeded());
    },
  };
}
