import type { FieldError } from '../field-error.ts';
import type { ApiObject } from '../object.ts';
import type { CompiledRules } from '../schema/cel-rules.ts';
import type { Schema } from '../schema/schema.ts';

/** A column of `kubectl get` (apiextensions.k8s.io/v1 CustomResourceColumnDefinition). */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** 0 is shown always, more only with `-o wide`. */
  readonly priority?: number;
  readonly jsonPath: string;
}

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

/** What a stored row is keyed by. Two kinds may show one storage in two API groups (Events do). */
export interface Storage {
  /** `ploinky.dev/agents`; stable, it is written to disk. */
  readonly id: string;
  /** Values are encrypted before they reach the disk. */
  readonly secret: boolean;
}

export interface TableStrategy {
  readonly columns: readonly Omit<PrinterColumn, 'jsonPath'>[];
  /** One cell a column; `now` in milliseconds since the epoch, for ages. */
  cells(object: ApiObject, now: number): unknown[];
}

/** How a kind differs from what every kind does. All members are pure. */
export interface Strategy {
  /** PUT without a resourceVersion overwrites. */
  readonly unconditionalUpdate: boolean;
  /** PUT of a name that does not exist creates it. */
  readonly createOnUpdate: boolean;
  /** metadata.generation counts spec changes. */
  readonly generation: boolean;
  /** PATCH with application/strategic-merge-patch+json is served. */
  readonly strategicMerge: boolean;
  /** A name that cannot be used, as messages of field.Invalid on metadata.name. */
  readonly validateName: (name: string) => string[];
  /** What decoding into a built-in type does beyond its schema, in place: a wrong value throws 400. */
  readonly decode?: (object: ApiObject) => void;
  /** Defaults and conversions beyond the schema's, in place, before owners of fields are noted. */
  readonly normalize?: (object: ApiObject) => void;
  /** Members that an object of a built-in type has even when nobody says them: nobody owns them. */
  readonly blank?: Readonly<Record<string, unknown>>;
  /** What the server itself writes, in place, after owners are noted. */
  readonly prepare?: (object: ApiObject, old: ApiObject | undefined) => void;
  /** Rules beyond the schema; `sent` is the object before it was normalized. */
  readonly validate?: (object: ApiObject, old: ApiObject | undefined, sent: ApiObject) => FieldError[];
  /** The whole table of `kubectl get`, Name and Age too, where JSON paths cannot say it. */
  readonly table?: TableStrategy;
  /** Field selectors beyond metadata.name and metadata.namespace: dotted path → the object's value. */
  readonly fieldSelectors?: Readonly<Record<string, (object: ApiObject) => string>>;
}

/** One kind that the server serves. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Defined by a CustomResourceDefinition: decides a few texts and patch types. */
  readonly custom: boolean;
  readonly schema: Schema;
  readonly rules?: CompiledRules;
  /** Has /status. */
  readonly status: boolean;
  readonly scale?: ScalePaths;
  readonly columns: readonly PrinterColumn[];
  readonly storage: Storage;
  readonly strategy: Strategy;
  /** For a kind that is a view of another's storage. */
  readonly view?: { toView(object: ApiObject): ApiObject; fromView(object: ApiObject): ApiObject };
}

/** `v1`, `ploinky.dev/v1alpha1`. */
export function apiVersionOf(kind: { group: string; version: string }): string {
  return kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
}
