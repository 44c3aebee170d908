import type { WorkloadId } from '../workload.ts';
import type { Alarms } from './alarms.ts';
import type { Caches } from './caches.ts';
import type { Memory } from './memory.ts';
import { slowBootMs } from './observe/observe.ts';
import type { PodFacts } from './observe/pod-facts.ts';
import type { KubernetesDriverOptions } from './options.ts';
import { readWarning } from './warnings.ts';

/** How long a pod may wait for its containers before Events are looked at. */
const unexplainedMs = 10_000;
/** Between two looks at Events, and at the node of a pod that should be gone. */
export const lostMs = 30_000;

/** What becomes worth telling by time alone, or stands in Events only. */
export interface Looks {
  plan(id: WorkloadId, memory: Memory, pods: readonly PodFacts[]): void;
}

export function createLooks(
  { client, clock, log }: KubernetesDriverOptions,
  caches: Caches,
  alarms: Alarms,
  tell: (id: WorkloadId) => void,
): Looks {
  async function explain(id: WorkloadId, memory: Memory, uid: string): Promise<void> {
    const isStill = () => caches.podsOf(id.uid).some((pod) => pod.uid === uid && pod.unexplained);
    if (!isStill()) return;
    memory.looked.add(uid);
    const found = await readWarning(client, { namespace: id.namespace, uid });
    if (found !== undefined) memory.warnings.set(uid, found);
    if (isStill()) tell(id);
  }
  return {
    plan(id, memory, pods) {
      const now = clock.now();
      for (const { uid, unexplained, createdAt, bootingSince, terminating } of pods) {
        if (terminating) continue;
        if (bootingSince !== undefined && now < bootingSince + slowBootMs) {
          alarms.set(`boot ${uid}`, bootingSince + slowBootMs - now, () => tell(id));
        }
        if (!unexplained) continue;
        const pause = memory.looked.has(uid) ? lostMs : 0;
        const wait = Math.max(createdAt + unexplainedMs - now, pause);
        alarms.set(`unexplained ${uid}`, wait, () => {
          explain(id, memory, uid).catch((error: unknown) =>
            log.warn('events of a pod could not be read', { workload: id, error }),
          );
        });
      }
    },
  };
}
