import type { UpstreamSecrets } from '#api/agent-server-config.ts';
import { backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { digestOf } from '#kit/digest.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { HandOverOptions } from '#wire/hand-over.ts';
import type { ReportTarget } from './reports.ts';

/**
 * Gives the secrets of a remote upstream to agent-servers that run and whose configuration is no file: those of
 * sandboxes. Each gets what it has not got from this process yet.
 */
export interface HandOvers {
  /** Idempotent; instances that are not named are forgotten. */
  give(uid: string, targets: readonly ReportTarget[], secrets: UpstreamSecrets): void;
  forget(uid: string): void;
  close(): void;
}

export interface HandOversOptions {
  readonly send: (options: HandOverOptions) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface Given {
  readonly digest: string;
  readonly stop: AbortController;
}

const again = { initial: 200, max: 30_000, jitter: 0.2 };

export function createHandOvers(options: HandOversOptions): HandOvers {
  /** By uid of the Agent, then by instance. */
  const agents = new Map<string, Map<string, Given>>();
  /** What is being given, by instance. One that is not wanted any more may arrive all the same. */
  const running = new Map<string, Promise<void>>();

  /** One after the other, so that what was wanted last is what the instance has at the end. */
  function start(target: ReportTarget, secrets: UpstreamSecrets, signal: AbortSignal): void {
    const { instance } = target;
    const before = running.get(instance);
    const give = () => handOver(target, secrets, signal, options);
    const given = (before === undefined ? give() : before.then(give)).finally(() => {
      if (running.get(instance) === given) running.delete(instance);
    });
    running.set(instance, given);
  }
  function forget(uid: string): void {
    for (const { stop } of agents.get(uid)?.values() ?? []) stop.abort();
    agents.delete(uid);
  }
  return {
    give(uid, targets, secrets) {
      const digest = digestOf(secrets);
      const before = agents.get(uid);
      const now = new Map<string, Given>();
      for (const target of targets) {
        const given = before?.get(target.instance);
        const isCurrent = given?.digest === digest;
        if (!isCurrent) given?.stop.abort();
        const entry = isCurrent ? given : { digest, stop: new AbortController() };
        now.set(target.instance, entry);
        if (!isCurrent) start(target, secrets, entry.stop.signal);
      }
      for (const [instance, { stop }] of before ?? []) if (!now.has(instance)) stop.abort();
      agents.set(uid, now);
    },
    forget,
    close() {
      for (const uid of [...agents.keys()]) forget(uid);
    },
  };
}

/** Tries until it has worked, or is not wanted any more. */
async function handOver(
  { agent, instance, address, keys }: ReportTarget,
  secrets: UpstreamSecrets,
  signal: AbortSignal,
  { send, clock, random, log }: HandOversOptions,
): Promise<void> {
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      await send({ agent, instance, address, keys, secrets, random, now: () => clock.now() });
      return;
    } catch (error) {
      log.debug('secrets were not taken yet', { agent: agent.name, instance, error: messageOf(error) });
      // An agent-server of an older version: it has what it was started with until it is replaced.
      if (codeOf(error) === 'Refused') return;
    }
    await clock.sleep(backoffDelay(again, failures, random.fraction()), signal).catch(() => undefined);
  }
}
