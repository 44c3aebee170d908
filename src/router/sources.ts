import type { RoutingTable } from '#routing/table.ts';
import type { MasterKey } from '#wire/keys.ts';

/** Where the routing table comes from: watches in the product, a variable in tests. */
export interface TableSource {
  /** The table as it is now; the same object until it changes. */
  current(): RoutingTable;
  /** False until everything was read once: before that an absent agent means nothing. */
  readonly synced: boolean;
  /** Calls back after each change. Returns the stop function. */
  subscribe(onChange: () => void): () => void;
}

/** Where the master keys come from: a watched Secret in the product. */
export interface KeySource {
  /** Current first; empty while the Secret has not been read. */
  current(): readonly MasterKey[];
}
