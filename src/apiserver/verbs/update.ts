import { isObject } from '#kit/json.ts';
import { type ApiError, conflict, notFound, staleVersion } from '../api-error.ts';
import { isTyped } from '../apply/declared.ts';
import { trackUpdate } from '../apply/field-manager.ts';
import type { Engine } from '../engine.ts';
import { invalid, invalidValue } from '../field-error.ts';
import type { Kind } from '../kinds/kind.ts';
import { type ApiObject, cloneJson, equalJson, type ManagedFieldsEntry } from '../object.ts';
import { finalizerWarnings, validateMetadataUpdate } from '../schema/metadata.ts';
import type { Entry } from '../store/history.ts';
import type { Transaction } from '../store/store.ts';
import { checkNamed, insert, writerOf } from './create.ts';
import { decodeObject, validateObject } from './decode.ts';
import { keyOf, type NamedTarget, type WriteOptions } from './target.ts';
import { viewIn, viewOut } from './view.ts';

/** What a write left behind. */
export interface Written {
  readonly object: ApiObject;
  readonly created: boolean;
}

/** PUT: replaces an object, or its status. */
export function updateObject(
  engine: Engine,
  target: NamedTarget,
  body: unknown,
  options: WriteOptions,
): Promise<Written> {
  const object = decodeObject(target.kind, body, options);
  return engine.store.transact((transaction) => {
    const { kind } = target;
    checkNamed(target, object);
    const current = transaction.get(kind.storage, keyOf(target, target.name));
    if (current === undefined) {
      if (!kind.strategy.createOnUpdate || target.subresource !== undefined)
        throw notFound(kind, target.name);
      if (object.metadata.uid) throw foreignUid(kind, target.name, object.metadata.uid, '');
      if (!options.dryRun) delete object.metadata.resourceVersion;
      return { object: insert(engine, transaction, target, object, options), created: true };
    }
    const next = viewIn(kind, object);
    checkVersion(kind, next, current);
    const managed = (candidate: ApiObject) =>
      trackUpdate(kind, current.object, candidate, writerOf(engine, target, options));
    return { object: replace(transaction, target, current, next, managed, options), created: false };
  });
}

/** Optimistic concurrency: a stale resourceVersion is a conflict; a foreign uid too, where `identity` says so. */
export function checkVersion(kind: Kind, next: ApiObject, current: Entry, identity = true): void {
  const name = current.object.metadata.name ?? '';
  const { uid, resourceVersion } = next.metadata;
  if (identity && uid && uid !== current.object.metadata.uid)
    throw foreignUid(kind, name, uid, current.object.metadata.uid ?? '');
  if (!resourceVersion) {
    if (kind.strategy.unconditionalUpdate) return;
    throw invalid({ ...kind, kind: kind.plural }, name, [
      invalidValue('metadata.resourceVersion', 0, 'must be specified for an update'),
    ]);
  }
  if (resourceVersion !== String(current.version)) throw staleVersion(kind, name);
}

function foreignUid(kind: Kind, name: string, wanted: string, actual: string): ApiError {
  return conflict(
    kind,
    name,
    `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${actual}`,
  );
}

/**
 * Stores `next` over `current`, in a transaction: keeps what the request may not change, counts the generation,
 * tracks owners by `managed`, validates, and removes the object when its last finalizer went.
 * Writes nothing when nothing changed. Returns the object as the kind shows it.
 */
export function replace(
  transaction: Transaction,
  target: NamedTarget,
  current: Entry,
  next: ApiObject,
  managed: (candidate: ApiObject) => ManagedFieldsEntry[],
  { dryRun, warn }: Pick<WriteOptions, 'dryRun' | 'warn'>,
): ApiObject {
  const { kind } = target;
  const old = current.object;
  const candidate = restrict(target, old, next);
  keepSystemFields(candidate, old);
  kind.strategy.normalize?.(candidate);
  const typed = !kind.custom || isTyped(kind, 'status', next);
  candidate.metadata.managedFields = typed ? managed(candidate) : [];
  if (candidate.metadata.managedFields.length === 0) delete candidate.metadata.managedFields;
  kind.strategy.prepare?.(candidate, old);
  if (kind.strategy.generation && changesDesired(kind, old, candidate))
    candidate.metadata.generation = (old.metadata.generation ?? 0) + 1;
  validateObject(
    kind,
    candidate,
    old,
    validateMetadataUpdate(candidate.metadata, old.metadata),
    target.subresource,
    next,
  );
  const { finalizers = [] } = candidate.metadata;
  if (kind.custom)
    for (const text of finalizerWarnings(finalizers, old.metadata.finalizers ?? [])) warn(text);
  const key = keyOf(target, target.name);
  if (isFinished(candidate)) {
    // What watchers see go is what was stored, finalizer and all.
    if (!dryRun) transaction.remove(kind.storage, key);
    return viewOut(kind, candidate);
  }
  if (sameButTimes(old, candidate)) return viewOut(kind, old);
  if (!dryRun) transaction.put(kind.storage, key, candidate);
  return viewOut(kind, candidate);
}

/** /status changes the status alone, /finalize a namespace's finalizers, the main resource everything but. */
function restrict(target: NamedTarget, old: ApiObject, next: ApiObject): ApiObject {
  const { kind, subresource } = target;
  if (subresource === 'status') {
    const candidate = cloneJson(old);
    assign(candidate, 'status', next['status'] ?? undefined);
    candidate.metadata.managedFields = next.metadata.managedFields ?? [];
    return candidate;
  }
  if (subresource === 'finalize') {
    const candidate = cloneJson(old);
    assign(candidate, 'spec', next['spec']);
    return candidate;
  }
  const candidate = cloneJson(next);
  if (kind.kind === 'Namespace') assign(candidate, 'spec', cloneJson(old['spec']));
  if (kind.status) assign(candidate, 'status', cloneJson(old['status']));
  return candidate;
}

function assign(object: ApiObject, member: string, value: unknown): void {
  if (value === undefined) delete object[member];
  else object[member] = value;
}

function keepSystemFields(candidate: ApiObject, old: ApiObject): void {
  const meta = candidate.metadata as Record<string, unknown>;
  const before = old.metadata as Record<string, unknown>;
  // Nothing is set to be deleted again: objects that lost a member are slow from then on.
  const keep = (field: string) => {
    if (before[field] !== undefined) meta[field] = before[field];
  };
  for (const field of ['uid', 'name', 'namespace', 'deletionGracePeriodSeconds'])
    if (meta[field] === undefined) keep(field);
  keep('deletionTimestamp');
  for (const field of ['creationTimestamp', 'generation', 'resourceVersion'])
    if (before[field] === undefined) delete meta[field];
    else keep(field);
  for (const field of Object.keys(meta)) if (meta[field] === undefined) delete meta[field];
}

function changesDesired(kind: Kind, old: ApiObject, next: ApiObject): boolean {
  const skip = new Set(['metadata', ...(kind.status ? ['status'] : [])]);
  const keys = new Set([...Object.keys(old), ...Object.keys(next)]);
  return [...keys].some((key) => !skip.has(key) && !equalJson(old[key], next[key]));
}

/** True when nothing but the times of managedFields differs. */
function sameButTimes(old: ApiObject, next: ApiObject): boolean {
  const timeless = (object: ApiObject) => ({
    ...object,
    metadata: {
      ...object.metadata,
      managedFields: (object.metadata.managedFields ?? []).map((entry) => ({ ...entry, time: '' })),
    },
  });
  return equalJson(timeless(old), timeless(next));
}

/** Asked to be deleted, and nothing left that holds it. */
export function isFinished(object: ApiObject): boolean {
  const spec = object.kind === 'Namespace' && isObject(object['spec']) ? object['spec'] : {};
  const held = Array.isArray(spec['finalizers']) && spec['finalizers'].length > 0;
  return (
    object.metadata.deletionTimestamp !== undefined &&
    (object.metadata.finalizers ?? []).length === 0 &&
    !held
  );
}
