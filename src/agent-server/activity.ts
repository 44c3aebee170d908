import type { Server } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { proofPath } from '#wire/challenge.ts';
import { queuePath } from '#wire/queue-state.ts';

/** Whether anybody uses an agent-server: one that nobody does may be replaced by a newer one. */
export interface Activity {
  /** True when for `idleAfterMs` no request was made or answered and no task ran or waited. */
  readonly idle: boolean;
  /** Resolves when no request was answered and no task ran or waited for `quietMs`, at the latest after `patienceMs`. */
  quiet(quietMs: number, patienceMs: number): Promise<void>;
  close(): void;
}

export interface ActivityOptions {
  readonly server: Server;
  readonly clock: Clock;
  readonly idleAfterMs: number;
  /** Whether tasks run or wait that nobody holds a request open for. */
  readonly isBusy: () => Promise<boolean>;
  /** `idle` changed. */
  readonly onChange: () => void;
}

/** Where a kubelet asks, before it ends the agent's own program, whether calls still run. */
export const drainedPath = '/drained';
/** What controllers, routers and kubelets ask without anybody having called. */
const upkeep = new Set(['/health', '/ready', '/changes', queuePath, drainedPath, proofPath]);
/** Milliseconds between two looks at what runs. */
const lookMs = 50;

export function watchActivity({ server, clock, idleAfterMs, isBusy, onChange }: ActivityOptions): Activity {
  let running = 0;
  let idle = false;
  let closed = false;
  let cancel = clock.after(idleAfterMs, () => void look());

  async function look(): Promise<void> {
    if (running > 0) return;
    if (await isBusy()) return wait();
    if (running > 0 || closed || idle) return;
    idle = true;
    onChange();
  }
  function wait(): void {
    cancel();
    if (!closed) cancel = clock.after(idleAfterMs, () => void look());
  }

  server.prependListener('request', (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    if (upkeep.has(path)) return;
    running += 1;
    cancel();
    if (idle) {
      idle = false;
      onChange();
    }
    response.once('close', () => {
      running -= 1;
      if (running === 0) wait();
    });
  });
  return {
    get idle() {
      return idle;
    },
    async quiet(quietMs, patienceMs) {
      const end = clock.monotonic() + patienceMs;
      let since = clock.monotonic();
      while (clock.monotonic() < end && clock.monotonic() - since < quietMs) {
        await clock.sleep(lookMs);
        if (running > 0 || (await isBusy())) since = clock.monotonic();
      }
    },
    close() {
      closed = true;
      cancel();
    },
  };
}
