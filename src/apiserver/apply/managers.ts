import type { ManagedFieldsEntry } from '../object.ts';
import { type FieldSet, fromFieldsV1, toFieldsV1 } from './field-set.ts';

/** What one manager owns, through one operation and subresource. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string;
  readonly set: FieldSet;
}

export type Managers = Map<string, Manager>;

const maxUpdaters = 10;

/** Who a manager is. Appliers are the same in every version of the API. */
export function identityOf(manager: Omit<Manager, 'set' | 'time'>): string {
  const version = manager.operation === 'Apply' ? '' : manager.apiVersion;
  return JSON.stringify([manager.operation, manager.manager, version, manager.subresource]);
}

const decoded = new WeakMap<readonly ManagedFieldsEntry[], Managers>();

/** Reads metadata.managedFields into a map of the caller's own. Undefined when an entry is not well-formed. */
export function decodeManagers(entries: readonly ManagedFieldsEntry[]): Managers | undefined {
  const known = decoded.get(entries) ?? decode(entries);
  if (known === undefined) return undefined;
  decoded.set(entries, known);
  return new Map(known);
}

function decode(entries: readonly ManagedFieldsEntry[]): Managers | undefined {
  const managers: Managers = new Map();
  for (const entry of entries) {
    const { operation } = entry;
    if (operation !== 'Apply' && operation !== 'Update') return undefined;
    const manager: Manager = {
      manager: entry.manager ?? '',
      operation,
      apiVersion: entry.apiVersion ?? '',
      subresource: entry.subresource ?? '',
      time: entry.time ?? '',
      set: fromFieldsV1(entry.fieldsV1 ?? {}),
    };
    // Of two entries of one manager the last counts.
    managers.set(identityOf(manager), manager);
  }
  return managers;
}

/** metadata.managedFields of managers that own something: appliers first, then by time and name. */
export function encodeManagers(managers: Managers): ManagedFieldsEntry[] {
  const sorted = [...capUpdaters(managers).values()].filter((manager) => !manager.set.isEmpty).sort(inOrder);
  return sorted.map((manager) => ({
    manager: manager.manager,
    operation: manager.operation,
    apiVersion: manager.apiVersion,
    ...(manager.time === '' ? {} : { time: manager.time }),
    fieldsType: 'FieldsV1',
    fieldsV1: toFieldsV1(manager.set),
    ...(manager.subresource === '' ? {} : { subresource: manager.subresource }),
  }));
}

function inOrder(left: Manager, right: Manager): number {
  return (
    compareText(left.operation, right.operation) ||
    compareText(left.time, right.time) ||
    compareText(left.manager, right.manager) ||
    compareText(left.apiVersion, right.apiVersion) ||
    compareText(left.subresource, right.subresource)
  );
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Many different updaters would grow the object without end: the oldest become one, called ancient-changes. */
function capUpdaters(managers: Managers): Managers {
  const updaters = [...managers.entries()].filter(
    ([, one]) => one.operation === 'Update' && !one.set.isEmpty,
  );
  if (updaters.length <= maxUpdaters) return managers;
  updaters.sort(([, left], [, right]) => inOrder(left, right));
  const capped = new Map(managers);
  for (const [identity, one] of updaters.slice(0, updaters.length - maxUpdaters + 1)) {
    capped.delete(identity);
    const ancient: Manager = { ...one, manager: 'ancient-changes', subresource: '' };
    const present = capped.get(identityOf(ancient));
    const set = present === undefined ? one.set : one.set.union(present.set);
    capped.set(identityOf(ancient), { ...ancient, set });
  }
  return capped;
}
