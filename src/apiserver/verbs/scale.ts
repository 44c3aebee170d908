import { isObject } from '#kit/json.ts';
import { badRequest, notFound } from '../api-error.ts';
import { trackUpdate } from '../apply/field-manager.ts';
import type { Engine } from '../engine.ts';
import type { Kind } from '../kinds/kind.ts';
import { type ApiObject, cloneJson, type Metadata } from '../object.ts';
import { jsonPatch } from '../patch/json-patch.ts';
import { mergePatch } from '../patch/merge-patch.ts';
import { readPath } from '../table/json-path.ts';
import { writerOf } from './create.ts';
import { patchTypes } from './patch-types.ts';
import { keyOf, type NamedTarget, type WriteOptions } from './target.ts';
import { checkVersion, replace } from './update.ts';

/** autoscaling/v1 Scale of an object. */
export function scaleOf(kind: Kind, object: ApiObject): ApiObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const metadata = { name, namespace, uid, resourceVersion, creationTimestamp } as Metadata;
  const selector = kind.scale?.labelSelectorPath;
  const selected = selector === undefined ? undefined : readPath(object, selector)[0];
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata,
    spec: { replicas: numberAt(object, kind.scale?.specReplicasPath) },
    status: {
      replicas: numberAt(object, kind.scale?.statusReplicasPath),
      ...(typeof selected === 'string' && selected !== '' ? { selector: selected } : {}),
    },
  };
}

/** PUT (`type` undefined) or PATCH of /scale: sets the replicas, nothing else. */
export function writeScale(
  engine: Engine,
  target: NamedTarget,
  type: string | undefined,
  body: unknown,
  options: WriteOptions,
): Promise<ApiObject> {
  const { kind } = target;
  return engine.store.transact((transaction) => {
    const current = transaction.get(kind.storage, keyOf(target, target.name));
    if (current === undefined) throw notFound(kind, target.name);
    const scale = wantedScale(scaleOf(kind, current.object), type, body);
    const next = cloneJson(current.object);
    if (type === undefined || scale.metadata.resourceVersion)
      checkVersion({ ...kind, strategy: { ...kind.strategy, unconditionalUpdate: true } }, scale, current);
    setNumber(next, kind.scale?.specReplicasPath ?? '', replicasOf(scale));
    const managed = (candidate: ApiObject) =>
      trackUpdate(kind, current.object, candidate, writerOf(engine, target, options));
    return scaleOf(kind, replace(transaction, target, current, next, managed, options.dryRun));
  });
}

function wantedScale(scale: ApiObject, type: string | undefined, body: unknown): ApiObject {
  const wanted =
    type === undefined ? body : type === patchTypes.json ? jsonPatch(scale, body) : mergePatch(scale, body);
  if (!isObject(wanted) || !isObject(wanted['metadata'])) throw badRequest('the body is not a Scale');
  return wanted as ApiObject;
}

function replicasOf(scale: ApiObject): number {
  const spec = scale['spec'];
  const replicas = isObject(spec) ? (spec['replicas'] ?? 0) : 0;
  if (typeof replicas !== 'number' || !Number.isInteger(replicas))
    throw badRequest('Scale in version "v1" cannot be handled as a Scale: spec.replicas must be an integer');
  return replicas;
}

function numberAt(object: ApiObject, path: string | undefined): number {
  const value = path === undefined ? undefined : readPath(object, path)[0];
  return typeof value === 'number' ? value : 0;
}

/** Sets a member by a simple path, `.spec.runtime.replicas`; objects on the way are made. */
function setNumber(object: ApiObject, path: string, value: number): void {
  const names = path.split('.').filter((name) => name !== '');
  let place: Record<string, unknown> = object;
  for (const name of names.slice(0, -1)) {
    const next = isObject(place[name]) ? place[name] : {};
    place[name] = next;
    place = next;
  }
  const last = names.at(-1);
  if (last !== undefined) place[last] = value;
}
