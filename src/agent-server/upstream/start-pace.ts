import { type BackoffOptions, backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { AgentServerError } from '../errors.ts';

/** Keeps starts of something that keeps failing apart. */
export interface StartPace {
  /** Waits until the next start is due. Throws UpstreamLost at once when that is too long to wait. */
  due(signal: AbortSignal): Promise<void>;
  failed(reason: string): void;
  succeeded(): void;
}

const again: BackoffOptions = { initial: 50, max: 30_000, jitter: 0 };
/** Longest pause, in milliseconds, that a call waits out instead of failing. */
const tolerableMs = 3000;

export function createStartPace(clock: Clock): StartPace {
  let failures = 0;
  let notBefore = 0;
  let last = '';
  return {
    async due(signal) {
      const pause = notBefore - clock.monotonic();
      if (failures === 0 || pause <= 0) return;
      if (pause > tolerableMs) {
        throw new AgentServerError('UpstreamLost', `The MCP server of this agent does not stay up: ${last}`);
      }
      await clock.sleep(pause, signal);
    },
    failed(reason) {
      failures += 1;
      last = reason;
      notBefore = clock.monotonic() + backoffDelay(again, failures, 0);
    },
    succeeded() {
      failures = 0;
    },
  };
}
