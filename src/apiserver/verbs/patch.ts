import { isObject } from '#kit/json.ts';
import { ApiError, badRequest, conflict, notFound } from '../api-error.ts';
import { checkDeclared } from '../apply/declared.ts';
import { applyConfiguration, trackUpdate } from '../apply/field-manager.ts';
import type { Engine } from '../engine.ts';
import { invalid } from '../field-error.ts';
import type { Kind } from '../kinds/kind.ts';
import { type ApiObject, cloneJson } from '../object.ts';
import { jsonPatch } from '../patch/json-patch.ts';
import { mergePatch } from '../patch/merge-patch.ts';
import { strategicMerge } from '../patch/strategic-merge.ts';
import type { Transaction } from '../store/store.ts';
import { checkNamed, checkPlace, insert, writerOf } from './create.ts';
import { decodeObject } from './decode.ts';
import { patchTypes } from './patch-types.ts';
import { keyOf, type NamedTarget, type WriteOptions } from './target.ts';
import { checkVersion, replace, type Written } from './update.ts';
import { viewIn, viewOut } from './view.ts';

/** PATCH of an object or of its status. `type` is the media type, one of `supportedPatchTypes`. */
export function patchObject(
  engine: Engine,
  target: NamedTarget,
  type: string,
  patch: unknown,
  options: WriteOptions,
): Promise<Written> {
  if (type === patchTypes.apply) return applyObject(engine, target, patch, options);
  return engine.store.transact((transaction) => {
    const { kind } = target;
    const current = transaction.get(kind.storage, keyOf(target, target.name));
    if (current === undefined) throw notFound(kind, target.name);
    const patched = patchedCopy(kind, type, viewOut(kind, current.object), patch);
    const object = decodePatched(kind, patched, options);
    checkNamed(target, object);
    const next = viewIn(kind, object);
    next.metadata.resourceVersion ??= String(current.version);
    checkVersion(kind, next, current, false);
    const managed = (candidate: ApiObject) =>
      trackUpdate(kind, current.object, candidate, writerOf(engine, target, options));
    return { object: replace(transaction, target, current, next, managed, options), created: false };
  });
}

/** What cannot be read after a patch is the patch's fault, which is 422, not 400. */
export function decodePatched(kind: Kind, patched: unknown, options: WriteOptions): ApiObject {
  try {
    return decodeObject(kind, patched, options);
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== 'BadRequest') throw error;
    const detail = /strict decoding error: .*/.exec(error.message)?.[0] ?? error.message;
    throw invalid({ group: '', plural: '', kind: '' }, '', [
      { reason: 'FieldValueInvalid', field: 'patch', message: `Invalid value: ${detail}` },
    ]);
  }
}

export function patchedCopy(kind: Kind, type: string, object: ApiObject, patch: unknown): unknown {
  if (type === patchTypes.json) return jsonPatch(object, patch);
  if (!isObject(patch)) throw badRequest('a merge patch is a JSON object');
  if (type === patchTypes.merge) return mergePatch(object, patch);
  return strategicMerge(kind.schema, object, patch);
}

/** Server-side apply: creates the object or merges the configuration into it, and notes who owns what. */
function applyObject(
  engine: Engine,
  target: NamedTarget,
  configuration: unknown,
  options: WriteOptions,
): Promise<Written> {
  if (options.fieldManager === '')
    throw new ApiError(
      'Invalid',
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      {
        group: 'meta.k8s.io',
        kind: 'PatchOptions',
        causes: [
          {
            reason: 'FieldValueRequired',
            message: 'Required value: is required for apply patch',
            field: 'fieldManager',
          },
        ],
      },
    );
  return engine.store.transact((transaction) => {
    const present = transaction.get(target.kind.storage, keyOf(target, target.name)) !== undefined;
    if (!present && target.subresource !== undefined) throw notFound(target.kind, target.name);
    const config = decodeConfiguration(target, configuration, options);
    return applyInside(engine, transaction, target, config, options);
  });
}

/** Unlike other bodies, a configuration is not defaulted: what it does not say, it does not own. */
function decodeConfiguration(target: NamedTarget, configuration: unknown, options: WriteOptions): ApiObject {
  checkDeclared(target.kind, configuration);
  const config = decodeObject(target.kind, configuration, options, { defaults: false });
  if ((config.metadata.managedFields ?? []).length > 0)
    throw badRequest('metadata.managedFields must be nil');
  config.metadata.name ??= target.name;
  if (target.kind.namespaced) config.metadata.namespace ??= target.namespace ?? '';
  return config;
}

/** What cannot be read after a merge is answered with 500: the API server did not foresee it. */
function decodeMerged(kind: Kind, merged: ApiObject, options: WriteOptions): ApiObject {
  try {
    return decodeObject(kind, merged, { ...options, fieldValidation: 'Ignore' }, { dropNulls: false });
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== 'BadRequest') throw error;
    const { name = '', namespace = '' } = merged.metadata;
    const what = `(${namespace}/${name}; ${kind.group}/${kind.version}, Kind=${kind.kind})`;
    throw new ApiError('Unknown', `failed to convert new object ${what} to proper version: ${error.message}`);
  }
}

function applyInside(
  engine: Engine,
  transaction: Transaction,
  target: NamedTarget,
  config: ApiObject,
  options: WriteOptions,
): Written {
  const { kind } = target;
  const current = transaction.get(kind.storage, keyOf(target, target.name));
  const writer = writerOf(engine, target, options);
  if (current === undefined) {
    if (config.metadata.uid)
      throw conflict(
        kind,
        target.name,
        `uid mismatch: the provided object specified uid ${config.metadata.uid}, and no existing object was found`,
      );
    const merged = applyConfiguration(kind, undefined, viewIn(kind, config), writer, options.force);
    checkPlace(target, merged);
    const fields = merged.metadata.managedFields ?? [];
    const decoded = decodeMerged(kind, viewOut(kind, merged), options);
    if (!options.dryRun) delete decoded.metadata.resourceVersion;
    return { object: insert(engine, transaction, target, decoded, options, fields), created: true };
  }
  const stored = viewIn(kind, config);
  const merged = applyConfiguration(kind, current.object, stored, writer, options.force);
  const fields = merged.metadata.managedFields ?? [];
  checkPlace(target, merged);
  checkVersion(kind, merged, current, false);
  const next = viewIn(kind, decodeMerged(kind, viewOut(kind, cloneJson(merged)), options));
  next.metadata.managedFields = fields;
  return {
    object: replace(transaction, target, current, next, () => fields, options),
    created: false,
  };
}
