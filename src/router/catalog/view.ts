import type { Item } from './list-kinds.ts';

export interface ViewItem {
  readonly agent: string;
  /** As the agent says it. */
  readonly name: string;
  /** As clients see it. */
  readonly exposed: string;
  /** The item as clients see it. */
  readonly item: Item;
}

/** One surface's merged list of one kind. */
export interface View {
  readonly items: readonly ViewItem[];
  /** Also what agents listed that are away for a moment: a call to them waits, and the names of others stay. */
  readonly byExposed: ReadonlyMap<string, ViewItem>;
  /** Names that several agents have, or that one would have twice by a rename. */
  readonly conflicts: ReadonlyMap<string, readonly string[]>;
  readonly errors: readonly { readonly agent: string; readonly message: string }[];
  /** Agents that answered and list nothing. */
  readonly emptyAgents: readonly string[];
  /** For what others make of a view and want to keep as long as it lasts. */
  readonly memo: Map<string, string>;
}
