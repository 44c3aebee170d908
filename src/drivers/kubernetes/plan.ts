import type { PodFacts } from './observe/pod-facts.ts';

export interface PlanInput {
  readonly replicas: number;
  readonly specHash: string;
  /** Pods have a volume each that only one pod can have at a time. */
  readonly hasVolume: boolean;
  /** Whether ended pods may be replaced and missing ones made. */
  readonly start: boolean;
  /** False while the first pod still has to find out which commit all of them get. */
  readonly pinned: boolean;
  readonly pods: readonly PodFacts[];
  /** uids of pods whose end has been told. */
  readonly told: ReadonlySet<string>;
  /** uids of pods that are to be replaced although they are of the wanted spec: their agent-server is an older one. */
  readonly replace: ReadonlySet<string>;
}

/** The next steps, all of which can be done at once. */
export interface Plan {
  /** Pods to make. `stuck`: uids of pods of the same slot and spec that are ending. */
  readonly create: readonly { readonly slot: number; readonly stuck: readonly string[] }[];
  /** To be reported as terminating first and deleted then: calls are sent to them. In the order to do it. */
  readonly retire: readonly PodFacts[];
  /** To be deleted at once: nobody calls them. */
  readonly remove: readonly PodFacts[];
  /** Between two starts, and not to be started again. */
  readonly giveUp: readonly PodFacts[];
}

/**
 * Pure. Without a volume a new pod is Ready before the old one goes, one slot after the other; with one the old goes
 * first, one slot at a time. What does not serve anyway is replaced at once. Scaling down begins with the highest slot.
 */
export function planOf(input: PlanInput): Plan {
  const plan: MutablePlan = { create: [], retire: [], remove: [], giveUp: [] };
  const slots = Array.from({ length: input.replicas }, (_, slot) => groupOf(input, slot));
  for (const group of slots) clearSlot(group, input, plan);
  const isBusy = slots.some((group) => isMoving(group));
  rollOver(slots, input, plan, isBusy);
  fill(slots, input, plan);
  scaleDown(input, plan);
  if (!input.start) {
    plan.giveUp.push(...slots.flatMap(({ good }) => good ?? []).filter((pod) => mayGiveUp(pod)));
  }
  return { ...plan, create: input.pinned ? plan.create : onlyFirst(slots, plan) };
}

type MutablePlan = { -readonly [Field in keyof Plan]: Plan[Field][number][] };

interface Slot {
  readonly slot: number;
  /** The live pod of the wanted spec. */
  readonly good: PodFacts | undefined;
  /** Live pods of another spec. */
  readonly old: readonly PodFacts[];
  /** Ended pods that stand for the slot: untold, or kept for their log while nothing is to start. */
  readonly kept: readonly PodFacts[];
  readonly ending: readonly PodFacts[];
  readonly mine: readonly PodFacts[];
}

function groupOf({ pods, specHash, start, told, replace }: PlanInput, slot: number): Slot {
  const mine = pods.filter((pod) => pod.slot === slot);
  const live = mine.filter(({ terminating, exit }) => !terminating && exit === undefined);
  const isWanted = (pod: PodFacts) => pod.specHash === specHash && !replace.has(pod.uid);
  const [good] = live.filter(isWanted).sort(byAge);
  const ended = mine.filter(({ terminating, exit }) => !terminating && exit !== undefined);
  const kept = ended.filter(
    (pod) => good === undefined && pod.specHash === specHash && !(start && told.has(pod.uid)),
  );
  const old = live.filter((pod) => !isWanted(pod));
  return { slot, good, old, kept, ending: mine.filter(({ terminating }) => terminating), mine };
}

function byAge(a: PodFacts, b: PodFacts): number {
  return a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1);
}

/** What has no place any more: ended pods that are told or of another spec, and a second live one. */
function clearSlot({ good, old, kept, mine }: Slot, { specHash }: PlanInput, plan: MutablePlan): void {
  for (const pod of mine) {
    if (pod.terminating || pod === good || old.includes(pod) || kept.includes(pod)) continue;
    plan.remove.push(pod);
  }
  if (good === undefined) return;
  // A surge: the old pod goes when the new one serves, or when it does not serve itself.
  for (const pod of old) {
    if (!pod.ready) plan.remove.push(pod);
    else if (good.ready && good.specHash === specHash) plan.retire.push(pod);
  }
}

/** Whether a replica is missing, or not Ready yet, that has no old pod to stand in for it. */
function isMoving({ good, old }: Slot): boolean {
  return good === undefined ? old.length === 0 : !good.ready;
}

/** Slots that only have a pod of another spec. */
function rollOver(slots: readonly Slot[], input: PlanInput, plan: MutablePlan, isBusy: boolean): void {
  if (!input.start) return;
  let busy = isBusy;
  for (const { slot, good, old, ending, kept } of slots) {
    if (good !== undefined || old.length === 0 || kept.length > 0) continue;
    const serves = old.some(({ ready }) => ready);
    if (serves && busy) continue;
    if (!serves) plan.remove.push(...old);
    else busy = true;
    if (!input.hasVolume) plan.create.push({ slot, stuck: stuckOf(ending, input) });
    else if (serves) plan.retire.push(...old);
  }
}

/** Slots that have nothing. */
function fill(slots: readonly Slot[], input: PlanInput, plan: MutablePlan): void {
  if (!input.start) return;
  for (const { slot, good, old, ending, kept } of slots) {
    if (good !== undefined || old.length > 0 || kept.length > 0) continue;
    if (input.hasVolume && ending.length > 0) continue;
    plan.create.push({ slot, stuck: stuckOf(ending, input) });
  }
}

function stuckOf(ending: readonly PodFacts[], { specHash }: PlanInput): string[] {
  return ending.filter((pod) => pod.specHash === specHash).map(({ uid }) => uid);
}

function scaleDown({ pods, replicas }: PlanInput, plan: MutablePlan): void {
  const beyond = pods
    .filter(({ slot, terminating }) => slot >= replicas && !terminating)
    .sort((a, b) => b.slot - a.slot);
  for (const pod of beyond) (pod.ready ? plan.retire : plan.remove).push(pod);
}

function mayGiveUp({ betweenStarts, isGivenUp }: PodFacts): boolean {
  return betweenStarts && !isGivenUp;
}

function onlyFirst(slots: readonly Slot[], { create }: Plan): Plan['create'] {
  const isTried = slots.some(({ good, kept }) => good !== undefined || kept.length > 0);
  return isTried ? [] : create.toSorted((a, b) => a.slot - b.slot).slice(0, 1);
}
