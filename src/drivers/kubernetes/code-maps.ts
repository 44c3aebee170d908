import { agentLabel, agentUidLabel, managedByLabel, managedByValue } from '#api/labels.ts';
import type { ConfigMap } from '#api/meta.ts';
import { configMapResource } from '#api/resources.ts';
import { keyOf, type ObjectKey } from '#kube/key.ts';
import { isCodeConfigMapName } from './names.ts';
import type { KubernetesDriverOptions } from './options.ts';
import { unlessGone } from './pod-ends.ts';
import type { ObjectSource } from './source.ts';

/** The ConfigMaps with inline code: of each Agent one for each content that one of its pods may still have. */
export interface CodeMaps {
  /** As they are known, without those that were deleted from here and whose end was not heard of yet. */
  readonly source: ObjectSource<ConfigMap>;
  of(agentUid: string): ConfigMap[];
  /** Deletes those of an Agent that have none of these names. Nothing is deleted twice. */
  removeOthers(agentUid: string, keep: readonly (string | undefined)[]): Promise<void>;
  forget(agentUid: string): void;
  close(): void;
}

/** Follows `configMaps` from now on. */
export function createCodeMaps({
  client,
  configMaps,
}: Pick<KubernetesDriverOptions, 'client' | 'configMaps'>): CodeMaps {
  const byAgent = new Map<string, Map<string, ConfigMap>>();
  /** uids of what was deleted from here: the cache learns of it a moment later. */
  const deleted = new Set<string>();
  const close = configMaps.subscribe(({ type, object, old }) => {
    const before = type === 'deleted' ? object : old;
    if (before !== undefined) unfile(byAgent, before);
    if (type !== 'deleted') file(byAgent, object);
    if (before !== undefined && (type === 'deleted' || uidOf(before) !== uidOf(object))) {
      deleted.delete(uidOf(before));
    }
  });
  const of = (agentUid: string) =>
    [...(byAgent.get(agentUid)?.values() ?? [])].filter((map) => !deleted.has(uidOf(map)));
  const remove = async (map: ConfigMap) => {
    const uid = uidOf(map);
    deleted.add(uid);
    try {
      await unlessGone(client.delete(configMapResource, keyOf(map), { preconditions: { uid } }));
    } catch (error) {
      deleted.delete(uid);
      throw error;
    }
  };
  return {
    source: {
      ...configMaps,
      get(key: ObjectKey) {
        const found = configMaps.get(key);
        return found !== undefined && deleted.has(uidOf(found)) ? undefined : found;
      },
    },
    of,
    async removeOthers(agentUid, keep) {
      const others = of(agentUid).filter(({ metadata }) => !keep.includes(metadata.name));
      await Promise.all(others.map(remove));
    },
    forget(agentUid) {
      for (const map of byAgent.get(agentUid)?.values() ?? []) deleted.delete(uidOf(map));
      byAgent.delete(agentUid);
    },
    close,
  };
}

function uidOf({ metadata: { uid = '' } }: ConfigMap): string {
  return uid;
}

/** The Agent whose code it holds; undefined for every other ConfigMap. */
function agentUidOf({ metadata: { name, labels = {} } }: ConfigMap): string | undefined {
  const agent = labels[agentLabel] ?? '';
  const isOurs = labels[managedByLabel] === managedByValue && isCodeConfigMapName(agent, name);
  return isOurs ? labels[agentUidLabel] : undefined;
}

type ByAgent = Map<string, Map<string, ConfigMap>>;

function file(byAgent: ByAgent, map: ConfigMap): void {
  const agentUid = agentUidOf(map);
  if (agentUid === undefined) return;
  const known = byAgent.get(agentUid) ?? new Map<string, ConfigMap>();
  byAgent.set(agentUid, known.set(map.metadata.name, map));
}

/** Also when another Agent of the name has taken it over. */
function unfile(byAgent: ByAgent, map: ConfigMap): void {
  const agentUid = agentUidOf(map);
  if (agentUid === undefined) return;
  const known = byAgent.get(agentUid);
  known?.delete(map.metadata.name);
  if (known?.size === 0) byAgent.delete(agentUid);
}
