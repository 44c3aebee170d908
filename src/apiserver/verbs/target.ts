import type { Kind } from '../kinds/kind.ts';

/** What a request is about. `namespace` is set for namespaced kinds, but for a list across all namespaces. */
export interface Target {
  readonly kind: Kind;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: 'status' | 'scale' | 'finalize';
}

/** A target with one object. */
export interface NamedTarget extends Target {
  readonly name: string;
}

/** The key of an object in its storage: `namespace/name`, or `name`. */
export function keyOf(target: { kind: Kind; namespace?: string | undefined }, name: string): string {
  return target.kind.namespaced ? `${target.namespace ?? ''}/${name}` : name;
}

/** How a write was asked for. */
export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore';
  /** Server-side apply only: take fields that others own. */
  readonly force: boolean;
  /** Members that the body said more than once; filled while it is read. */
  readonly duplicates?: string[];
  /** Receives a text for a Warning header. */
  warn(text: string): void;
}
