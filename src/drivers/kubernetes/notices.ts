import type { PodFacts } from './observe/pod-facts.ts';

export interface Notices {
  /** To be deleted now: their end was told long enough ago. */
  readonly due: readonly PodFacts[];
  /** The others, with the milliseconds until they are due. */
  readonly waiting: readonly { readonly uid: string; readonly ms: number }[];
}

/**
 * Notes in `retiring` (uid → monotonic milliseconds) whose end is told from now on, and says whose was told `noticeMs`
 * ago. Timers come up to a millisecond early: who looks again too soon is told to look once more.
 */
export function noticesOf(
  retiring: Map<string, number>,
  pods: readonly PodFacts[],
  now: number,
  noticeMs: number,
): Notices {
  const due: PodFacts[] = [];
  const waiting: { uid: string; ms: number }[] = [];
  for (const pod of pods) {
    const since = retiring.get(pod.uid) ?? now;
    retiring.set(pod.uid, since);
    const ms = since + noticeMs - now;
    if (ms > 0) waiting.push({ uid: pod.uid, ms });
    else due.push(pod);
  }
  return { due, waiting };
}
