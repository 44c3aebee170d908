import type { Log } from '#kit/log.ts';
import { boundConflicts, encodeConflicts, type NameConflict } from '#routing/name-conflicts.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { RoutingTable } from '#routing/table.ts';
import type { ListKind } from './list-kinds.ts';
import type { View } from './view.ts';

/** Names that several agents have, as the lists show that were made here. */
export interface Conflicts {
  look(surface: McpSurface, kind: ListKind, view: View): void;
  /** Forgets Routes that are no more. */
  retain(table: RoutingTable): void;
  /** Those of Routes, for this router's Lease; empty when there are none. */
  readonly text: string;
  subscribe(callback: () => void): () => void;
}

/** Logs each state of a list's conflicts once. */
export function createConflicts({ log }: { readonly log: Log }): Conflicts {
  /** By source, then by kind. */
  const known = new Map<string, Map<ListKind, readonly NameConflict[]>>();
  const callbacks = new Set<() => void>();
  let text = '';
  const changed = () => {
    const now = encodeConflicts(
      new Map(
        [...known]
          .filter(([source]) => source !== 'defaults')
          .map(([source, kinds]) => [source, [...kinds.values()].flat()]),
      ),
    );
    if (now === text) return;
    text = now;
    for (const callback of callbacks) callback();
  };
  return {
    look({ source, naming }, kind, view) {
      const kinds = known.get(source);
      // With every name prefixed only two names of one agent can be the same.
      const conflicts = [...view.conflicts].filter(
        ([, agents]) => naming !== 'Always' || agents.length === 1,
      );
      if (conflicts.length === 0 && kinds?.has(kind) !== true) return;
      const before = kinds?.get(kind) ?? [];
      const now = boundConflicts(conflicts.map(([name, agents]) => ({ kind, name, agents })));
      if (JSON.stringify(now) === JSON.stringify(before)) return;
      const own = kinds ?? new Map<ListKind, readonly NameConflict[]>();
      known.set(source, own);
      if (now.length === 0) own.delete(kind);
      else own.set(kind, now);
      if (own.size === 0) known.delete(source);
      if (now.length > 0)
        log.warn('several agents have the same names', { source, kind, count: conflicts.length, first: now });
      changed();
    },
    retain({ surfaces }) {
      if (known.size === 0) return;
      const sources = new Set(surfaces.map(({ source }) => source));
      for (const source of known.keys()) if (!sources.has(source)) known.delete(source);
      changed();
    },
    get text() {
      return text;
    },
    subscribe(callback) {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
  };
}
