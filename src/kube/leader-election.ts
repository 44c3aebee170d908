import type { Lease } from '#api/core-kinds.ts';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Client } from './client.ts';
import { isConflict } from './errors.ts';
import { startDeadline } from './http.ts';
import type { ObjectKey } from './key.ts';
import { claimLease, readLease, releaseLease } from './lease.ts';
import { type Gauge, type Metrics, noMetrics } from './metrics.ts';

export interface LeaderElectionOptions {
  readonly client: Client;
  readonly lease: ObjectKey;
  /** Unique per process: a pod's name and uid, or a host's name and a UUID. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** How long others leave an unchanged lease alone. Whole seconds. Default 15,000 ms. */
  readonly leaseDurationMs?: number;
  /** A leader that could not renew for this long stops being one. Default 10,000 ms. */
  readonly renewDeadlineMs?: number;
  /** Between attempts. Default 2,000 ms, times 1 to 1.2. Its sum with the deadline must stay below the duration. */
  readonly retryPeriodMs?: number;
  /** Called when this process leads; once in its life. */
  readonly onStarted: () => void;
  /**
   * Called when it led and no longer does, but not because of `stop`. Others may lead now: end the process at
   * once. There is no way back into the election.
   */
  readonly onLost: (reason: string) => void;
}

export interface LeaderElector {
  /**
   * True while the last successful renewal is younger than the renew deadline, by this process's own clock; so
   * false at once after a pause (a stopped process, a suspended laptop), until a renewal has shown that nobody
   * else came. Ask before a write that two writers must not both make.
   */
  isLeader(): boolean;
  /** Leaves the election. A leader gives the lease back, so that the next need not wait for it to expire. */
  stop(): Promise<void>;
}

/**
 * Elects one leader by a coordination.k8s.io/v1 Lease, as client-go does. Expiry is judged by how long *this*
 * process has seen the lease unchanged, never by the times written in it: clocks differ. Every write carries the
 * version it was decided on, so that of two candidates one gets 409.
 */
export function startLeaderElection(options: LeaderElectionOptions): LeaderElector {
  const leaseDurationMs = options.leaseDurationMs ?? 15_000;
  const renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
  const retryPeriodMs = options.retryPeriodMs ?? 2_000;
  if (renewDeadlineMs + retryPeriodMs * 1.2 >= leaseDurationMs) {
    throw new RangeError('leaseDurationMs must exceed renewDeadlineMs + 1.2 × retryPeriodMs');
  }
  const election = new Election({ ...options, leaseDurationMs, renewDeadlineMs, retryPeriodMs });
  const running = election.run();
  return {
    isLeader: () => election.isLeader(),
    stop: async () => {
      election.end();
      await running;
    },
  };
}

type Settings = LeaderElectionOptions & {
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
};

class Election {
  readonly #options: Settings;
  readonly #log: Log;
  readonly #status: Gauge;
  readonly #ended = new AbortController();
  #led = false;
  /** When the last successful renewal was *begun*: everybody else saw it later. Monotonic milliseconds. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  /** The lease as last seen, and since when this process has seen it unchanged. */
  #seen: { readonly lease: Lease; readonly since: number } | undefined;
  /** The last write, while nothing has cast doubt on it: spares a leader the read before each renewal. */
  #own: Lease | undefined;

  constructor(options: Settings) {
    this.#options = options;
    this.#log = options.log.with({ lease: `${options.lease.namespace}/${options.lease.name}` });
    this.#status = (options.metrics ?? noMetrics).gauge({
      name: 'leader_election_master_status',
      help: '1 while this process leads, else 0.',
      labelNames: ['name'],
    });
    this.#report(0);
  }

  isLeader(): boolean {
    const age = this.#options.clock.monotonic() - this.#renewedAt;
    return this.#led && !this.#ended.signal.aborted && age < this.#options.renewDeadlineMs;
  }

  end(): void {
    this.#ended.abort(new Error('the election was left'));
  }

  async run(): Promise<void> {
    const { clock, random, retryPeriodMs } = this.#options;
    while (!this.#ended.signal.aborted) {
      const failure = await this.#attempt();
      if (this.#isLost(failure)) {
        this.#lose(failure ?? 'another holder took the lease');
        return;
      }
      const waitMs = retryPeriodMs * (1 + 0.2 * random.fraction());
      await clock.sleep(waitMs, this.#ended.signal).catch(() => undefined);
    }
    if (this.#led) await this.#release();
  }

  /** Tries to get or keep the lease. Returns undefined on success, else why not. */
  async #attempt(): Promise<string | undefined> {
    const { clock } = this.#options;
    const begunAt = clock.monotonic();
    const deadline = startDeadline(clock, this.#attemptMs(), this.#ended.signal);
    try {
      const lease = await this.#claim(deadline.signal);
      if (lease === undefined) return `held by ${this.#seen?.lease.spec?.holderIdentity}`;
      this.#own = lease;
      this.#seen = { lease, since: begunAt };
      this.#renewedAt = begunAt;
      if (!this.#led) this.#lead();
      return undefined;
    } catch (error) {
      if (!this.#ended.signal.aborted) this.#log.warn('cannot claim the lease', { error });
      return messageOf(error);
    } finally {
      deadline.clear();
    }
  }

  /** The lease as written with this process as holder, or undefined while another holds it. Throws what the API says. */
  async #claim(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, lease: key, identity, clock, leaseDurationMs } = this.#options;
    const trusted = this.isLeader() ? this.#own : undefined;
    this.#own = undefined;
    const current = trusted ?? (await readLease(client, key, { signal }));
    if (current !== undefined) this.#notice(current);
    if (current !== undefined && !this.#mayClaim(current)) return undefined;
    try {
      return await claimLease(
        client,
        key,
        current,
        { identity, leaseDurationMs, now: clock.now() },
        { signal },
      );
    } catch (error) {
      // Somebody wrote over a leader's lease: find out at once who.
      if (trusted !== undefined && isConflict(error)) return this.#claim(signal);
      throw error;
    }
  }

  /** Time for one attempt: what is left of the deadline, and two retry periods once it has passed (after a pause). */
  #attemptMs(): number {
    const { clock, renewDeadlineMs, retryPeriodMs } = this.#options;
    const left = renewDeadlineMs - (clock.monotonic() - this.#renewedAt);
    return this.#led && left > 0 ? Math.min(left, retryPeriodMs * 2) : retryPeriodMs * 2;
  }

  #notice(lease: Lease): void {
    if (this.#seen?.lease.metadata.resourceVersion === lease.metadata.resourceVersion) return;
    this.#seen = { lease, since: this.#options.clock.monotonic() };
  }

  #mayClaim(lease: Lease): boolean {
    const holder = lease.spec?.holderIdentity;
    if (!holder || holder === this.#options.identity) return true;
    const validMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000 || this.#options.leaseDurationMs;
    const unchangedMs = this.#options.clock.monotonic() - (this.#seen?.since ?? 0);
    return unchangedMs >= validMs;
  }

  /** Judged after an attempt, so that a process that was stopped for minutes and finds its lease untouched leads on. */
  #isLost(failure: string | undefined): boolean {
    if (!this.#led || failure === undefined || this.#ended.signal.aborted) return false;
    const holder = this.#seen?.lease.spec?.holderIdentity;
    return !this.isLeader() || (holder !== undefined && holder !== this.#options.identity);
  }

  #lead(): void {
    this.#led = true;
    this.#report(1);
    this.#log.info('leading', { identity: this.#options.identity });
    this.#options.onStarted();
  }

  #lose(reason: string): void {
    this.end();
    this.#report(0);
    this.#log.error('leadership lost', { reason });
    this.#options.onLost(reason);
  }

  async #release(): Promise<void> {
    this.#report(0);
    const { client, identity, clock, retryPeriodMs } = this.#options;
    const lease = this.#seen?.lease;
    if (lease?.spec?.holderIdentity !== identity) return;
    try {
      await releaseLease(client, lease, clock.now(), { timeoutMs: retryPeriodMs });
    } catch (error) {
      this.#log.warn('cannot give the lease back, it will expire', { error });
    }
  }

  #report(value: 0 | 1): void {
    this.#status.set({ name: this.#options.lease.name }, value);
  }
}
