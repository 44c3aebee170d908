import type { Observed } from '#drivers/workload.ts';
import type { AgentReport } from './facts.ts';

/**
 * Lets a few Agents at a time change to a newer agent-server. A place is given back when its Agent answers again with
 * the newer one: a newer one that does not start stops the others from changing.
 */
export interface Upgrades {
  /** Takes or keeps a place for the Agent with this uid. False: all are taken. */
  admit(uid: string): boolean;
  release(uid: string): void;
}

/** Agents that change at once. */
const defaultPlaces = 3;

export function createUpgrades(places = defaultPlaces): Upgrades {
  const taken = new Set<string>();
  return {
    admit(uid) {
      if (taken.size >= places && !taken.has(uid)) return false;
      taken.add(uid);
      return true;
    },
    release(uid) {
      taken.delete(uid);
    },
  };
}

/** Instances with an older agent-server than the controller gives to new ones. */
export function outdatedInstances(observed: Observed | undefined): string[] {
  const outdated = observed?.instances.filter(
    ({ outdated, terminating, exit }) => outdated === true && !terminating && exit === undefined,
  );
  return (outdated ?? []).map(({ uid }) => uid);
}

/** The outdated instance that nobody uses, one at a time; undefined when all are in use. Pure. */
export function idleOutdated(
  outdated: readonly string[],
  reports: readonly AgentReport[],
): string | undefined {
  return outdated.find((uid) => reports.some(({ instance, idle }) => instance === uid && idle));
}
