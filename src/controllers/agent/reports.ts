import { backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { digestOf } from '#kit/digest.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { AgentServerChange, ChangesOptions } from '#wire/changes.ts';
import type { AgentIdentity, WireKey } from '#wire/keys.ts';
import type { TaskListener } from '../task/listener.ts';
import type { AgentReport } from './facts.ts';
import type { TaskMetrics } from './task-metrics.ts';

/** An agent-server whose reports are wanted. */
export interface ReportTarget {
  readonly agent: AgentIdentity;
  readonly instance: string;
  readonly address: string;
  readonly keys: readonly WireKey[];
  /** The substrate says that it answers: one that was tried in vain before, while it was starting, is tried at once. */
  readonly answers?: boolean;
  /** It ends: what it still says of tasks counts, and nothing that it says of itself. */
  readonly ends?: boolean;
}

/**
 * What agent-servers say of themselves, over one change stream each; nothing polls. A stream that breaks is
 * opened again; the last report stays until the first try to open it again has failed.
 */
export interface AgentReports {
  /**
   * Listens to these instances of the Agent with this uid and to no others. Idempotent. `known` gives what is
   * known of an instance from before this process; it holds like a report of it would.
   */
  follow(uid: string, targets: readonly ReportTarget[], known?: KnownReport): void;
  /**
   * The instances of the Agent with this uid are to end. What they say of themselves counts no more; they are listened to
   * until each stream ends of itself: what becomes of their tasks is told until then.
   */
  leave(uid: string): void;
  /** Stops listening to the Agent with this uid and forgets what it said. */
  forget(uid: string): void;
  /** The last report of each instance that has given one and does not end. */
  get(uid: string): readonly AgentReport[];
  close(): void;
}

export type KnownReport = (instance: string) => AgentReport | undefined;

export interface ReportsOptions {
  /** See followChanges; each call is one stream. */
  readonly open: (options: ChangesOptions, onChange: (change: AgentServerChange) => void) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A report came, changed or went. */
  readonly onChange: (agent: AgentIdentity) => void;
  /** Who is told what the streams say of tasks. */
  readonly tasks?: TaskListener | undefined;
  /** Who counts what they say of their queues. */
  readonly queues?: TaskMetrics;
}

interface Feed {
  readonly target: ReportTarget;
  readonly stop: AbortController;
  report?: AgentReport;
  /** Nothing that it says of itself counts any more. */
  ends: boolean;
  /** Left with its stream: it is not opened again. */
  isLeft: boolean;
  /** A stream is open and has said something. */
  isHeard: boolean;
  /** Takes it out of those that are followed. */
  readonly drop: () => void;
}

/** The pause grows to half a minute: of a fleet whose pods cannot be reached nobody should be busy. */
const reconnect = { initial: 100, max: 30_000, jitter: 0.2 };
const none: readonly AgentReport[] = [];

export function createAgentReports(options: ReportsOptions): AgentReports {
  /** By uid of the Agent, then by instance. */
  const agents = new Map<string, Map<string, Feed>>();

  function forget(uid: string): void {
    for (const feed of agents.get(uid)?.values() ?? []) feed.stop.abort();
    agents.delete(uid);
  }
  function drop(uid: string, { target, stop }: Feed): void {
    stop.abort();
    const feeds = agents.get(uid);
    feeds?.delete(target.instance);
    if (feeds?.size === 0) agents.delete(uid);
  }
  function begin(uid: string, target: ReportTarget, report: AgentReport | undefined): Feed {
    const feed: Feed = {
      ...{ target, stop: new AbortController(), ...(report && { report }) },
      ...{ ends: target.ends === true, isLeft: false, isHeard: false },
      drop: () => drop(uid, feed),
    };
    return feed;
  }

  return {
    follow(uid, targets, known) {
      if (targets.length === 0) return forget(uid);
      const feeds = agents.get(uid) ?? new Map<string, Feed>();
      agents.set(uid, feeds);
      endOthers(feeds, targets);
      for (const target of targets) {
        const followed = feeds.get(target.instance);
        if (followed !== undefined) {
          followed.ends = target.ends === true;
          followed.isLeft = false;
          continue;
        }
        const feed = begin(uid, target, known?.(target.instance));
        feeds.set(target.instance, feed);
        void listen(feed, options);
      }
    },
    leave(uid) {
      for (const feed of [...(agents.get(uid)?.values() ?? [])]) {
        feed.isLeft = true;
        if (!feed.isHeard) feed.drop();
      }
    },
    forget,
    get(uid) {
      const feeds = agents.get(uid);
      if (feeds === undefined) return none;
      return [...feeds.values()].flatMap((feed) => (isSilent(feed) ? [] : (feed.report ?? [])));
    },
    close() {
      for (const uid of [...agents.keys()]) forget(uid);
    },
  };
}

function isSilent({ ends, isLeft }: Feed): boolean {
  return ends || isLeft;
}

/** Ends the feeds of instances that are not wanted any more, or are to be reached another way. */
function endOthers(feeds: Map<string, Feed>, targets: readonly ReportTarget[]): void {
  for (const [instance, feed] of feeds) {
    const wanted = targets.find((target) => target.instance === instance);
    if (wanted !== undefined && sameTarget(feed.target, wanted) && !isNewsFor(feed, wanted)) continue;
    feed.stop.abort();
    feeds.delete(instance);
  }
}

function sameTarget(a: ReportTarget, b: ReportTarget): boolean {
  const kids = (target: ReportTarget) => target.keys.map((key) => key.kid).join();
  return a.instance === b.instance && a.address === b.address && kids(a) === kids(b);
}

/** The pause between two tries may be long by the time that there is somebody to listen to. */
function isNewsFor({ target, report }: Feed, wanted: ReportTarget): boolean {
  return report === undefined && wanted.answers === true && target.answers !== true;
}

async function listen(feed: Feed, options: ReportsOptions): Promise<void> {
  const { signal } = feed.stop;
  signal.addEventListener('abort', () => closed(feed, options), { once: true });
  let failures = 0;
  while (!signal.aborted) {
    try {
      await readStream(feed, options, () => {
        failures = 0;
      });
    } catch (error) {
      options.log.debug('change stream ended', { agent: feed.target.agent.name, error });
    }
    feed.isHeard = false;
    if (feed.isLeft) feed.drop();
    if (signal.aborted) return;
    failures += 1;
    if (failures > 1) loseReport(feed, options);
    const delay = backoffDelay(reconnect, failures, options.random.fraction());
    await options.clock.sleep(delay, signal).catch(() => undefined);
  }
}

function readStream(feed: Feed, options: ReportsOptions, onAnswer: () => void): Promise<void> {
  const { agent, address, instance, keys } = feed.target;
  const { clock, random } = options;
  const { signal } = feed.stop;
  let version = '';
  return options.open({ agent, address, instance, keys, clock, random, signal }, (change) => {
    onAnswer();
    feed.isHeard = true;
    if (change.type === 'task') options.tasks?.told(feed.target, change);
    if (change.type === 'execution') options.tasks?.began(feed.target, change);
    if (change.type === 'queue') options.queues?.told(feed.target, change);
    if (change.type === 'hello') {
      version = change.version;
      options.tasks?.opened(feed.target);
    }
    if (change.type !== 'state') return;
    const { ready, reason, message, toolCount, lists, tools, hidden, idle } = change;
    const toolsDigest = digestOf(lists);
    const said = { ready, reason, message, toolCount, toolsDigest, tools, hidden, idle };
    feed.report = { instance, version, ...said };
    if (!isSilent(feed)) options.onChange(agent);
  });
}

function closed({ target }: Feed, { tasks, queues }: ReportsOptions): void {
  tasks?.closed(target);
  queues?.closed(target);
}

function loseReport(feed: Feed, options: ReportsOptions): void {
  if (feed.report === undefined || !feed.report.ready || isSilent(feed)) return;
  feed.report = {
    ...feed.report,
    ready: false,
    reason: 'Unreachable',
    message: 'The agent-server does not answer.',
  };
  options.onChange(feed.target.agent);
}
