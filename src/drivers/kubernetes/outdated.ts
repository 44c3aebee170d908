import { isOutdated } from './observe/observe.ts';
import type { PodFacts } from './observe/pod-facts.ts';

/**
 * uids of pods with an older agent-server that may go now: those that are `allowed`; those that never ran, perhaps
 * because their image cannot be had, for they lose nothing; and those whose successor is there already, whoever made
 * it: without that a controller that starts in the middle of a change would keep the older one and end the newer.
 */
export function outdatedToReplace(
  pods: readonly PodFacts[],
  { image, allowed, start }: { image: string; allowed: readonly string[]; start: boolean },
): string[] {
  const isLive = ({ terminating, exit }: PodFacts) => !terminating && exit === undefined;
  const current = pods.filter((pod) => isLive(pod) && !isOutdated(pod, image));
  const outdated = pods.filter((pod) => isOutdated(pod, image));
  const hasSuccessor = ({ slot, specHash }: PodFacts) =>
    current.some((pod) => pod.slot === slot && pod.specHash === specHash);
  const mayGo = (pod: PodFacts) => start && (allowed.includes(pod.uid) || !pod.hasRun);
  return outdated.filter((pod) => mayGo(pod) || hasSuccessor(pod)).map(({ uid }) => uid);
}
