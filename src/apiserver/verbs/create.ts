import { ApiError, alreadyExists, badRequest, forbidden, notFound } from '../api-error.ts';
import { isTyped } from '../apply/declared.ts';
import { trackUpdate } from '../apply/field-manager.ts';
import type { Engine } from '../engine.ts';
import { namespaceKind, phaseOf } from '../kinds/namespace.ts';
import { type ApiObject, formatTime, type ManagedFieldsEntry } from '../object.ts';
import { finalizerWarnings } from '../schema/metadata.ts';
import type { Transaction } from '../store/store.ts';
import { decodeObject, validateObject } from './decode.ts';
import { keyOf, type Target, type WriteOptions } from './target.ts';
import { viewIn, viewOut } from './view.ts';

const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';
const suffixLength = 5;
const maxPrefix = 63 - suffixLength;

/** POST: stores a new object and returns it. */
export function createObject(
  engine: Engine,
  target: Target,
  body: unknown,
  options: WriteOptions,
): Promise<ApiObject> {
  const object = decodeObject(target.kind, body, options);
  delete object.metadata.deletionTimestamp;
  delete object.metadata.deletionGracePeriodSeconds;
  return engine.store.transact((transaction) => insert(engine, transaction, target, object, options));
}

/** Stores a decoded object that does not exist yet; within a transaction. `applied`: its field owners, after an apply. */
export function insert(
  engine: Engine,
  transaction: Transaction,
  target: Target,
  object: ApiObject,
  options: WriteOptions,
  applied?: ManagedFieldsEntry[],
): ApiObject {
  const { kind } = target;
  prepareMetadata(engine, target, object);
  const stored = viewIn(kind, object);
  const typed = !kind.custom || isTyped(kind, 'status', stored);
  if (kind.status && kind.custom) delete stored['status'];
  kind.strategy.normalize?.(stored);
  checkNamespace(transaction, target, stored);
  const managed = () => trackUpdate(kind, undefined, stored, writerOf(engine, target, options));
  stored.metadata.managedFields = applied ?? (typed ? managed() : []);
  if (stored.metadata.managedFields.length === 0) delete stored.metadata.managedFields;
  kind.strategy.prepare?.(stored, undefined);
  validateObject(kind, stored, undefined);
  if (kind.custom)
    for (const text of finalizerWarnings(stored.metadata.finalizers ?? [], [])) options.warn(text);
  // The storage is what refuses it, and a dry run does not come that far.
  if (stored.metadata.resourceVersion && !options.dryRun)
    throw new ApiError('Unknown', 'resourceVersion should not be set on objects to be created');
  const key = keyOf(target, stored.metadata.name ?? '');
  const present = transaction.get(kind.storage, key)?.object;
  if (present !== undefined) throw alreadyExists(kind, stored.metadata.name ?? '', isLeaving(present));
  if (!options.dryRun) transaction.put(kind.storage, key, stored);
  return viewOut(kind, stored);
}

function isLeaving(object: ApiObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

/** Who writes, for managedFields. */
export function writerOf(engine: Engine, target: Target, options: WriteOptions) {
  return {
    manager: options.fieldManager,
    subresource: target.subresource ?? '',
    time: formatTime(engine.clock.now()),
  };
}

function prepareMetadata(engine: Engine, target: Target, object: ApiObject): void {
  const meta = object.metadata;
  checkPlace(target, object);
  if (!meta.name && meta.generateName) meta.name = meta.generateName.slice(0, maxPrefix) + suffix(engine);
  if (target.kind.namespaced) meta.namespace = target.namespace ?? '';
  else delete meta.namespace;
  meta.uid = engine.random.uuid();
  meta.creationTimestamp = formatTime(engine.clock.now());
  if (target.kind.strategy.generation) meta.generation = 1;
}

/** An object that takes the place of another must say its name. */
export function checkNamed(target: Target, object: ApiObject): void {
  checkPlace(target, object);
  if (target.name !== undefined && !object.metadata.name)
    throw badRequest(
      `the name of the object (${target.name} based on URL) was undeterminable: name must be provided`,
    );
}

/** The body must not name another place than the URL does. */
export function checkPlace(target: Target, object: ApiObject): void {
  const { namespace, name } = object.metadata;
  if (target.kind.namespaced && namespace && namespace !== target.namespace)
    throw badRequest(`the namespace of the provided object does not match the namespace sent on the request`);
  if (target.name !== undefined && name && name !== target.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`);
}

function suffix(engine: Engine): string {
  let text = '';
  while (text.length < suffixLength) {
    const byte = engine.random.bytes(1)[0] ?? 0;
    if (byte < suffixAlphabet.length * 9) text += suffixAlphabet[byte % suffixAlphabet.length];
  }
  return text;
}

function checkNamespace(transaction: Transaction, target: Target, object: ApiObject): void {
  const { kind, namespace } = target;
  if (!kind.namespaced) return;
  if (namespace === undefined || namespace === '')
    throw new ApiError('MethodNotAllowed', 'the server does not allow this method on the requested resource');
  const found = transaction.get(namespaceKind.storage, namespace);
  if (found === undefined) throw notFound(namespaceKind, namespace);
  if (phaseOf(found.object) !== 'Terminating') return;
  throw forbidden(
    kind,
    object.metadata.name ?? '',
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  );
}
