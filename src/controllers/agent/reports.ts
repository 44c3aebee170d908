import { backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { digestOf } from '#kit/digest.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { AgentServerChange, ChangesOptions } from '#wire/changes.ts';
import type { AgentIdentity, WireKey } from '#wire/keys.ts';
import type { AgentReport } from './facts.ts';

/** The agent-server whose reports are wanted. */
export interface ReportTarget {
  readonly agent: AgentIdentity;
  readonly instance: string;
  readonly address: string;
  readonly keys: readonly WireKey[];
}

/**
 * What agent-servers say of themselves, over one change stream each; nothing polls. A stream that breaks is
 * opened again; the last report stays until the first try to open it again has failed.
 */
export interface AgentReports {
  /**
   * Listens to this instance and to no earlier one of the same Agent. Idempotent. `last` is what is known of the
   * instance from before this process; it holds like a report of it would.
   */
  follow(target: ReportTarget, last?: AgentReport): void;
  /** Stops listening to the Agent with this uid and forgets what it said. */
  forget(uid: string): void;
  get(uid: string): AgentReport | undefined;
  close(): void;
}

export interface ReportsOptions {
  readonly open: (options: ChangesOptions) => AsyncIterable<AgentServerChange>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A report came, changed or went. */
  readonly onChange: (agent: AgentIdentity) => void;
}

interface Feed {
  readonly target: ReportTarget;
  readonly stop: AbortController;
  report?: AgentReport;
}

const reconnect = { initial: 100, max: 5_000, jitter: 0.2 };

export function createAgentReports(options: ReportsOptions): AgentReports {
  const feeds = new Map<string, Feed>();

  function forget(uid: string): void {
    feeds.get(uid)?.stop.abort();
    feeds.delete(uid);
  }

  return {
    follow(target, last) {
      const known = feeds.get(target.agent.uid);
      if (known !== undefined && sameTarget(known.target, target)) return;
      forget(target.agent.uid);
      const feed: Feed = { target, stop: new AbortController(), ...(last && { report: last }) };
      feeds.set(target.agent.uid, feed);
      void listen(feed, options);
    },
    forget,
    get: (uid) => feeds.get(uid)?.report,
    close() {
      for (const uid of [...feeds.keys()]) forget(uid);
    },
  };
}

function sameTarget(a: ReportTarget, b: ReportTarget): boolean {
  const kids = (target: ReportTarget) => target.keys.map((key) => key.kid).join();
  return a.instance === b.instance && a.address === b.address && kids(a) === kids(b);
}

async function listen(feed: Feed, options: ReportsOptions): Promise<void> {
  const { signal } = feed.stop;
  let failures = 0;
  while (!signal.aborted) {
    try {
      await readStream(feed, options, () => {
        failures = 0;
      });
    } catch (error) {
      options.log.debug('change stream ended', { agent: feed.target.agent.name, error });
    }
    if (signal.aborted) return;
    failures += 1;
    if (failures > 1) loseReport(feed, options);
    const delay = backoffDelay(reconnect, failures, options.random.fraction());
    await options.clock.sleep(delay, signal).catch(() => undefined);
  }
}

async function readStream(feed: Feed, options: ReportsOptions, onAnswer: () => void): Promise<void> {
  const { agent, address, instance, keys } = feed.target;
  const { clock, random } = options;
  let version = '';
  for await (const change of options.open({
    agent,
    address,
    instance,
    keys,
    clock,
    random,
    signal: feed.stop.signal,
  })) {
    onAnswer();
    if (change.type === 'hello') version = change.version;
    if (change.type !== 'state') continue;
    const { ready, reason, message, toolCount, lists } = change;
    const toolsDigest = digestOf(lists);
    feed.report = { instance, version, ready, reason, message, toolCount, toolsDigest };
    options.onChange(agent);
  }
}

function loseReport(feed: Feed, options: ReportsOptions): void {
  if (feed.report === undefined || !feed.report.ready) return;
  feed.report = {
    ...feed.report,
    ready: false,
    reason: 'Unreachable',
    message: 'The agent-server does not answer.',
  };
  options.onChange(feed.target.agent);
}
