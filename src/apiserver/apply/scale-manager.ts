import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import type { ApiObject, ManagedFieldsEntry } from '../object.ts';
import type { Writer } from './field-manager.ts';
import { FieldSet } from './field-set.ts';
import { decodeManagers, encodeManagers, identityOf, type Manager, type Managers } from './managers.ts';

/**
 * managedFields after a write of /scale, from `before` to `after` replicas. The API server notes owners of the Scale, a
 * type of its own, and translates (managedfields.ScaleHandler). What follows from that, and is done here too:
 * nothing is noted while nobody owns the replicas, nobody owns none, an updater's replicas become an entry of their own,
 * and such entries have no time.
 */
export function trackScale(
  kind: Kind,
  live: ApiObject,
  [before, after]: readonly [number | undefined, number],
  writer: Writer,
): ManagedFieldsEntry[] {
  const managers = decodeManagers(live.metadata.managedFields ?? []) ?? new Map<string, Manager>();
  const path = (kind.scale?.specReplicasPath ?? '').split('.').filter((name) => name !== '');
  const replicas = new FieldSet();
  replicas.insert(path.map((name) => `f:${name}`));
  const owners = [...managers].filter(([, manager]) => manager.set.has(path.map((name) => `f:${name}`)));
  if (owners.length === 0) return encodeManagers(managers);
  const result: Managers = new Map(managers);
  for (const [identity, manager] of owners) {
    if (before === after && manager.operation === 'Apply') continue;
    result.set(identity, { ...manager, set: manager.set.difference(replicas) });
    if (before === after) result.set(`${identity} replicas`, { ...manager, time: '', set: replicas });
  }
  if (before !== after && after !== 0) {
    const one = { manager: writer.manager, operation: 'Update' as const, apiVersion: apiVersionOf(kind) };
    const mine = { ...one, subresource: 'scale', time: '', set: replicas };
    result.set(identityOf(mine), mine);
  }
  return encodeManagers(result);
}
