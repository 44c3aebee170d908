import type { KubeObject } from '#api/meta.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Time for the whole call in milliseconds. Default: the client's `timeoutMs`. */
  readonly timeoutMs?: number;
}

export interface WriteOptions extends CallOptions {
  /** Who owns the fields written. Kubernetes derives one from the user agent when absent. */
  readonly fieldManager?: string;
  /** The API validates and answers, and stores nothing. */
  readonly dryRun?: boolean;
  /** What the API does with unknown and duplicate fields. Kubernetes' default is Warn. */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take over fields that another manager owns. Default false: 409. A stale resourceVersion is 409 either way. */
  readonly force?: boolean;
}

export interface ApplyStatusOptions extends ApplyOptions {
  /** Top-level status fields that this manager owns; default all. See `sameStatus`. */
  readonly owned?: readonly string[];
}

export interface DeleteOptions extends CallOptions {
  /** 409 unless the object still has this uid and version. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
  readonly gracePeriodSeconds?: number;
  readonly dryRun?: boolean;
}

export interface SelectOptions {
  /** Default: every namespace. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListOptions extends SelectOptions, CallOptions {
  /** Largest number of objects in the answer; the rest follow by `continue`. Default: all in one answer. */
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
}

export interface List<T extends KubeObject> {
  readonly items: T[];
  readonly metadata: {
    readonly resourceVersion: string;
    /** Present while more follows. */
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

export type Patch =
  /** RFC 7386. */
  | { readonly type: 'merge'; readonly body: object }
  /** RFC 6902. */
  | { readonly type: 'json'; readonly body: readonly JsonPatchOperation[] };

export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

export interface PatchOptions extends WriteOptions {
  readonly subresource?: 'status' | 'scale';
}

export interface WatchOptions extends SelectOptions {
  /** Events after this version. Absent: from now, beginning with what exists. */
  readonly resourceVersion?: string;
  /** Default true. */
  readonly bookmarks?: boolean;
  /** The server ends the watch after this long. Seconds. */
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
}

export type WatchEvent<T extends KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Only apiVersion, kind and metadata.resourceVersion are set. */
  | { readonly type: 'BOOKMARK'; readonly object: KubeObject }
  /** `object` is a metav1.Status; see `errorFromStatus`. */
  | { readonly type: 'ERROR'; readonly object: unknown };

/** What an apply sends: identity and the fields that its manager wants to own, nothing else. */
export type ApplyConfiguration<T extends KubeObject> = KubeObject & {
  [Field in Exclude<keyof T, keyof KubeObject>]?: unknown;
};
