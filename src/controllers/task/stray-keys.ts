import { splitKey } from './phases.ts';

/** Attempts that instances say they have although, as far as is known here, no Task has given them to them. */
export interface StrayKeys {
  /** False: it is known, is no key of an attempt, or the instance has told of too many. */
  add(instance: string, key: string): boolean;
  drop(instance: string, key: string): void;
  dropInstance(instance: string): void;
  /** Those of a Task. */
  of(uid: string): readonly StrayKey[];
}

export interface StrayKey {
  readonly key: string;
  readonly instance: string;
}

/** As many as an agent-server tells of at the beginning of a stream. */
const mostOfInstance = 10_000;
const longestKey = 80;

/** Of what an agent-server may have made up only this much is kept, and no longer than it is listened to. */
export function createStrayKeys(most = mostOfInstance): StrayKeys {
  const byInstance = new Map<string, Set<string>>();
  /** By uid of the Task, then by instance and key. */
  const byUid = new Map<string, Map<string, StrayKey>>();

  function drop(instance: string, key: string): void {
    const keys = byInstance.get(instance);
    if (keys?.delete(key) !== true) return;
    if (keys.size === 0) byInstance.delete(instance);
    const { uid = '' } = splitKey(key) ?? {};
    const ofTask = byUid.get(uid);
    ofTask?.delete(nameOf(instance, key));
    if (ofTask?.size === 0) byUid.delete(uid);
  }
  return {
    add(instance, key) {
      const { uid } = splitKey(key) ?? {};
      const keys = byInstance.get(instance) ?? new Set<string>();
      if (uid === undefined || key.length > longestKey || keys.size >= most || keys.has(key)) return false;
      byInstance.set(instance, keys.add(key));
      const ofTask = byUid.get(uid) ?? new Map<string, StrayKey>();
      byUid.set(uid, ofTask.set(nameOf(instance, key), { key, instance }));
      return true;
    },
    drop,
    dropInstance(instance) {
      for (const key of byInstance.get(instance) ?? []) drop(instance, key);
    },
    of: (uid) => [...(byUid.get(uid)?.values() ?? [])],
  };
}

function nameOf(instance: string, key: string): string {
  return `${instance} ${key}`;
}
