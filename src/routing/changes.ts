import type { RoutingTable } from './table.ts';

/** Names of what is there in only one of two tables, or is another in each. */
export interface TableChanges {
  readonly targets: ReadonlySet<string>;
  readonly verdicts: ReadonlySet<string>;
}

interface Origin {
  readonly before: WeakRef<RoutingTable>;
  readonly changes: TableChanges;
}

const origins = new WeakMap<RoutingTable, Origin>();

/** Says what was changed of `before` to make `after`, for who asks `changesBetween` them. */
export function noteChanges(before: RoutingTable, after: RoutingTable, changes: TableChanges): void {
  origins.set(after, { before: new WeakRef(before), changes });
}

/**
 * All that differs, and perhaps something that is the same again. Costs nothing for a table and the one that it was
 * made of, and a look at everything for any other two. Without `before`: all.
 */
export function changesBetween(before: RoutingTable | undefined, after: RoutingTable): TableChanges {
  const origin = origins.get(after);
  if (before !== undefined && origin?.before.deref() === before) return origin.changes;
  return {
    targets: differing(before?.targets, after.targets),
    verdicts: differing(before?.verdicts, after.verdicts),
  };
}

function differing<V>(
  before: ReadonlyMap<string, V> | undefined,
  after: ReadonlyMap<string, V>,
): Set<string> {
  const names = new Set<string>();
  if (before === after) return names;
  for (const [name, value] of after) if (before?.get(name) !== value) names.add(name);
  for (const name of before?.keys() ?? []) if (!after.has(name)) names.add(name);
  return names;
}
