import { isObject } from '#kit/json.ts';
import { ApiError, badRequest, notFound } from '../api-error.ts';
import { trackScale } from '../apply/scale-manager.ts';
import type { Engine } from '../engine.ts';
import type { Kind } from '../kinds/kind.ts';
import { scaleKind } from '../kinds/scale.ts';
import { type ApiObject, cloneJson, type Metadata } from '../object.ts';
import { applyDefaults } from '../schema/defaults.ts';
import { readPath } from '../table/json-path.ts';
import { checkNamed, writerOf } from './create.ts';
import { decodeObject } from './decode.ts';
import { decodePatched, patchedCopy } from './patch.ts';
import { keyOf, type NamedTarget, type WriteOptions } from './target.ts';
import { checkVersion, replace } from './update.ts';

/** autoscaling/v1 Scale of an object. Throws 500, as the API server does, when the object has no replicas. */
export function scaleOf(kind: Kind, object: ApiObject): ApiObject {
  if (replicasIn(kind, object) === undefined)
    throw internalError(
      `the spec replicas field ${JSON.stringify(kind.scale?.specReplicasPath)} does not exist`,
    );
  return viewOf(kind, object);
}

/** What stands for replicas that were never given, so that a patch can tell them from none. */
const unset = -(2 ** 31);

function viewOf(kind: Kind, object: ApiObject, replicas = replicasIn(kind, object) ?? 0): ApiObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const metadata = { name, namespace, uid, resourceVersion, creationTimestamp } as Metadata;
  const selector = kind.scale?.labelSelectorPath;
  const selected = selector === undefined ? undefined : readPath(object, selector)[0];
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata,
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: numberAt(object, kind.scale?.statusReplicasPath) ?? 0,
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
  const sent = type === undefined ? decodeObject(scaleKind, body, options) : undefined;
  return engine.store.transact((transaction) => {
    const current = transaction.get(kind.storage, keyOf(target, target.name));
    if (current === undefined) throw notFound(kind, target.name);
    const before = replicasIn(kind, current.object);
    const scale = sent ?? patched(viewOf(kind, current.object, before ?? unset), type ?? '', body, options);
    checkNamed(target, scale);
    const wanted = isObject(scale['spec']) ? scale['spec']['replicas'] : undefined;
    if (wanted === unset)
      throw badRequest(
        `the spec replicas field ${JSON.stringify(kind.scale?.specReplicasPath)} cannot be empty`,
      );
    const next = cloneJson(current.object);
    const replicas = typeof wanted === 'number' ? wanted : 0;
    checkVersion(
      { ...kind, strategy: { ...kind.strategy, unconditionalUpdate: true } },
      scale,
      current,
      sent !== undefined,
    );
    setNumber(next, kind.scale?.specReplicasPath ?? '', replicas);
    applyDefaults(kind.schema, next);
    const managed = () =>
      trackScale(kind, current.object, [before, replicas], writerOf(engine, target, options));
    return viewOf(kind, replace(transaction, target, current, next, managed, options));
  });
}

function patched(scale: ApiObject, type: string, patch: unknown, options: WriteOptions): ApiObject {
  return decodePatched(scaleKind, patchedCopy(scaleKind, type, scale, patch), options);
}

function replicasIn(kind: Kind, object: ApiObject): number | undefined {
  return numberAt(object, kind.scale?.specReplicasPath);
}

function numberAt(object: ApiObject, path: string | undefined): number | undefined {
  const value = path === undefined ? undefined : readPath(object, path)[0];
  return typeof value === 'number' ? value : undefined;
}

function internalError(message: string): ApiError {
  return new ApiError('InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
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
