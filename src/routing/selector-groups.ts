import { type Labels, matcherOf, type Selector } from './selector.ts';
import type { SortedNames } from './sorted-names.ts';

/** All who choose by one selector, and what it chooses. */
export interface Group {
  readonly key: string;
  readonly matches: (labels: Labels) => boolean;
  /** One label that it asks for; undefined: it asks for none by value. */
  readonly label: readonly [key: string, value: string] | undefined;
  readonly followers: Set<string>;
  names: SortedNames;
  /** Names that come (true) or go since `names` was made. */
  readonly pending: Map<string, boolean>;
}

export function groupOf(key: string, selector: Selector): Group {
  return {
    key,
    matches: matcherOf(selector),
    label: Object.entries(selector.matchLabels ?? {})[0],
    followers: new Set(),
    names: [],
    pending: new Map(),
  };
}

/** Finds the groups that may choose an Agent by its labels without asking each of them. */
export interface GroupIndex {
  add(group: Group): void;
  delete(group: Group): void;
  /** Those that choose these labels. */
  choosing(labels: Labels): Group[];
}

export function createGroupIndex(): GroupIndex {
  const byLabel = new Map<string, Map<string, Set<Group>>>();
  const others = new Set<Group>();
  return {
    add(group) {
      if (group.label === undefined) {
        others.add(group);
        return;
      }
      const [key, value] = group.label;
      const values = byLabel.get(key) ?? new Map<string, Set<Group>>();
      const groups = values.get(value) ?? new Set<Group>();
      byLabel.set(key, values.set(value, groups.add(group)));
    },
    delete(group) {
      others.delete(group);
      if (group.label === undefined) return;
      const [key, value] = group.label;
      const values = byLabel.get(key);
      const groups = values?.get(value);
      groups?.delete(group);
      if (groups?.size === 0) values?.delete(value);
      if (values?.size === 0) byLabel.delete(key);
    },
    choosing(labels) {
      const found: Group[] = [];
      for (const key of byLabel.size === 0 ? [] : Object.keys(labels)) {
        for (const group of byLabel.get(key)?.get(labels[key] ?? '') ?? []) {
          if (group.matches(labels)) found.push(group);
        }
      }
      for (const group of others) if (group.matches(labels)) found.push(group);
      return found;
    },
  };
}
