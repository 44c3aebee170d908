import { isObject } from '#kit/json.ts';
import { badRequest, conflict, notFound, type Status } from '../api-error.ts';
import type { Engine } from '../engine.ts';
import { invalid, invalidValue, notSupported } from '../field-error.ts';
import type { Kind } from '../kinds/kind.ts';
import { namespaceKind } from '../kinds/namespace.ts';
import { type ApiObject, cloneJson, formatTime } from '../object.ts';
import type { Entry } from '../store/history.ts';
import type { Transaction } from '../store/store.ts';
import { keyOf, type NamedTarget, type Target } from './target.ts';
import { viewOut } from './view.ts';

export type Propagation = 'Orphan' | 'Background' | 'Foreground';

/** metav1.DeleteOptions, as far as they matter here. */
export interface DeleteOptions {
  readonly propagationPolicy: Propagation | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly dryRun: boolean;
}

/** Reads DeleteOptions from the body or, when there is none, from the query. Throws 400 or 422. */
export function readDeleteOptions(body: unknown, parameters: URLSearchParams): DeleteOptions {
  const options = isObject(body) ? body : {};
  const query = body === undefined ? parameters : new URLSearchParams();
  if (options['kind'] !== undefined && options['kind'] !== 'DeleteOptions')
    throw badRequest('the body of a DELETE must be DeleteOptions');
  const preconditions = isObject(options['preconditions']) ? options['preconditions'] : {};
  const dryRun = Array.isArray(options['dryRun']) ? options['dryRun'] : query.getAll('dryRun');
  return {
    propagationPolicy: readPropagation(options, query),
    uid: typeof preconditions['uid'] === 'string' ? preconditions['uid'] : undefined,
    resourceVersion:
      typeof preconditions['resourceVersion'] === 'string' ? preconditions['resourceVersion'] : undefined,
    dryRun: dryRun.includes('All'),
  };
}

function readPropagation(options: Record<string, unknown>, query: URLSearchParams): Propagation | undefined {
  const orphans = options['orphanDependents'] ?? query.get('orphanDependents') ?? undefined;
  const policy = options['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined;
  const name = { group: 'meta.k8s.io', plural: 'deleteoptions', kind: 'DeleteOptions' };
  if (orphans !== undefined && policy !== undefined)
    throw invalid(name, '', [
      invalidValue(
        'propagationPolicy',
        policy,
        'orphanDependents and deletionPropagation cannot be both set',
      ),
    ]);
  if (orphans !== undefined) return String(orphans) === 'true' ? 'Orphan' : 'Background';
  if (policy === undefined) return undefined;
  const known = ['Foreground', 'Background', 'Orphan'] as const;
  const found = known.find((one) => one === policy);
  if (found === undefined)
    throw invalid(name, '', [notSupported('propagationPolicy', policy, [...known, 'nil'])]);
  return found;
}

/** DELETE of one object. Answers with a Status when it is gone, with the object when finalizers hold it. */
export function deleteObject(
  engine: Engine,
  target: NamedTarget,
  options: DeleteOptions,
): Promise<ApiObject | Status> {
  return engine.store.transact((transaction) => {
    const current = transaction.get(target.kind.storage, keyOf(target, target.name));
    if (current === undefined) throw notFound(target.kind, target.name);
    checkPreconditions(target.kind, current, options);
    return erase(engine, transaction, target.kind, keyOf(target, target.name), current, options);
  });
}

function checkPreconditions(kind: Kind, current: Entry, options: DeleteOptions): void {
  const { name = '', uid } = current.object.metadata;
  const named = { ...kind, plural: kind.kind };
  if (options.uid !== undefined && options.uid !== uid)
    throw conflict(
      named,
      name,
      `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
    );
  if (options.resourceVersion !== undefined && options.resourceVersion !== String(current.version))
    throw conflict(
      named,
      name,
      `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${current.version}). The object might have been modified`,
    );
}

/** Removes an object or, while finalizers hold it, marks it as deleted; within a transaction. */
export function erase(
  engine: Engine,
  transaction: Transaction,
  kind: Kind,
  key: string,
  current: Entry,
  options: DeleteOptions,
): ApiObject | Status {
  const finalizers = finalizersFor(current.object, options.propagationPolicy);
  const held = finalizers.length > 0 || kind.kind === namespaceKind.kind;
  if (!held) {
    if (!options.dryRun) transaction.remove(kind.storage, key);
    return gone(kind, current.object);
  }
  if (current.object.metadata.deletionTimestamp !== undefined && sameList(finalizers, current.object))
    return viewOut(kind, current.object);
  const marked = mark(engine, kind, current.object, finalizers);
  if (!options.dryRun) transaction.put(kind.storage, key, marked);
  return viewOut(kind, marked);
}

function finalizersFor(object: ApiObject, propagation: Propagation | undefined): string[] {
  const kept = object.metadata.finalizers ?? [];
  if (propagation === undefined) return kept;
  const others = kept.filter((one) => one !== 'orphan' && one !== 'foregroundDeletion');
  if (propagation === 'Background') return others;
  return [...others, propagation === 'Orphan' ? 'orphan' : 'foregroundDeletion'];
}

function sameList(finalizers: readonly string[], object: ApiObject): boolean {
  return JSON.stringify(finalizers) === JSON.stringify(object.metadata.finalizers ?? []);
}

function mark(engine: Engine, kind: Kind, object: ApiObject, finalizers: readonly string[]): ApiObject {
  const marked = cloneJson(object);
  const meta = marked.metadata;
  if (finalizers.length > 0) meta.finalizers = [...finalizers];
  if (meta.deletionTimestamp === undefined) {
    meta.deletionTimestamp = formatTime(engine.clock.now());
    if (kind.kind !== namespaceKind.kind) meta.deletionGracePeriodSeconds = 0;
    if (meta.generation !== undefined) meta.generation += 1;
  }
  if (kind.kind === namespaceKind.kind)
    marked['status'] = { ...(marked['status'] as Record<string, unknown>), phase: 'Terminating' };
  return marked;
}

function gone(kind: Kind, object: ApiObject): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: object.metadata.name ?? '',
      ...(kind.group === '' ? {} : { group: kind.group }),
      kind: kind.plural,
      uid: object.metadata.uid ?? '',
    },
  };
}

/** DELETE of a collection: every object that the selectors choose, each as a DELETE of its own. */
export function deleteCollection(
  engine: Engine,
  target: Target,
  selects: (object: ApiObject) => boolean,
  options: DeleteOptions,
): Promise<ApiObject[]> {
  const prefix = target.namespace === undefined ? '' : `${target.namespace}/`;
  return engine.store.transact((transaction) => {
    const deleted: ApiObject[] = [];
    for (const key of [...transaction.keys(target.kind.storage)].sort()) {
      const current = transaction.get(target.kind.storage, key);
      if (!key.startsWith(prefix) || current === undefined || !selects(current.object)) continue;
      erase(engine, transaction, target.kind, key, current, options);
      deleted.push(viewOut(target.kind, current.object));
    }
    return deleted;
  });
}
