import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import { fenceWrites } from '#kube/fenced-client.ts';
import { startLeaderElection } from '#kube/leader-election.ts';
import type { Metrics } from '#kube/metrics.ts';

export interface LeadingOptions<Work extends LeaderWork> {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Namespace of the Lease `ploinky-controller`. */
  readonly namespace: string;
  /** Unique per process. */
  readonly identity: string;
  /** How long others leave an unchanged Lease alone; undefined: there is only this process, which leads at once. */
  readonly leaseSeconds: number | undefined;
  /** Begins the leader's work, with a client whose writes end with the leadership; the signal gives the beginning up. */
  readonly work: (client: Client, signal: AbortSignal) => Promise<Work>;
  /** The work could not begin, or the Lease went to another: end the process, there is no way back. */
  readonly onFailed: (message: string, error: unknown) => void;
}

export interface LeaderWork {
  stop(): Promise<void>;
}

export interface Leading {
  /** Follows, or leads and has begun its work. */
  readonly ready: boolean;
  readonly leads: boolean;
  /** Ends the work if it leads, and gives the Lease back so that the next need not wait for it to expire. */
  stop(): Promise<void>;
}

export const leaderLease = 'ploinky-controller';

/** Does the leader's work in one of several processes. */
export function startLeading<Work extends LeaderWork>(options: LeadingOptions<Work>): Leading {
  const { client, leaseSeconds } = options;
  let begun: Promise<void> | undefined;
  let work: Work | undefined;
  const stopping = new AbortController();
  let stopped = false;
  const begin = () => {
    const fenced = fenceWrites(client, () => !stopped && elector.isLeader());
    begun = options.work(fenced, stopping.signal).then(
      (running) => {
        work = running;
      },
      (error: unknown) => {
        if (!stopping.signal.aborted) options.onFailed('cannot begin to lead', error);
      },
    );
  };
  const elector = leaseSeconds === undefined ? sole : elect(options, leaseSeconds, begin);
  if (leaseSeconds === undefined) begin();
  return {
    get ready() {
      return begun === undefined || work !== undefined;
    },
    get leads() {
      return elector.isLeader();
    },
    async stop() {
      stopping.abort(new Error('this process ends'));
      await settled(begun, options.clock);
      await work?.stop();
      stopped = true;
      await elector.stop();
    },
  };
}

/** Work that was given up ends soon; what it still waits for then can write nothing any more. */
const giveUpMs = 2_000;

async function settled(begun: Promise<void> | undefined, clock: Clock): Promise<void> {
  const late = Promise.withResolvers<void>();
  const cancel = clock.after(giveUpMs, late.resolve);
  await Promise.race([begun, late.promise]);
  cancel();
}

const sole = { isLeader: () => true, stop: async () => undefined };

/** The shares of a lease are client-go's: 15 s, 10 s, 2 s. */
function elect<Work extends LeaderWork>(
  options: LeadingOptions<Work>,
  leaseSeconds: number,
  onStarted: () => void,
) {
  const leaseDurationMs = leaseSeconds * 1000;
  return startLeaderElection({
    ...options,
    lease: { namespace: options.namespace, name: leaderLease },
    leaseDurationMs,
    renewDeadlineMs: (leaseDurationMs * 2) / 3,
    retryPeriodMs: (leaseDurationMs * 2) / 15,
    onStarted,
    onLost: (reason) => options.onFailed('leadership lost', new Error(reason)),
  });
}
