import type { Engine } from '../engine.ts';
import type { Kind } from '../kinds/kind.ts';
import { namespaceKind, phaseOf } from '../kinds/namespace.ts';
import { cloneJson } from '../object.ts';
import type { Transaction } from '../store/store.ts';
import { erase } from '../verbs/delete.ts';
import { isFinished } from '../verbs/update.ts';

/**
 * Empties a namespace that is being deleted, and removes it when nothing is left. Objects with finalizers hold it
 * until those are gone. The returned function stops it.
 */
export function emptyDeletedNamespaces(engine: Engine): () => void {
  const kinds = engine.kinds.all.filter((kind) => kind.namespaced && kind.view === undefined);
  const scheduled = new Set<string>();
  let closed = false;
  const look = (name: string) => {
    if (scheduled.has(name)) return;
    scheduled.add(name);
    setImmediate(() => {
      scheduled.delete(name);
      if (closed) return;
      engine.store
        .transact((transaction) => emptyOne(engine, kinds, transaction, name))
        .catch(
          (error: unknown) => closed || engine.log.error('emptying a namespace failed', { name, error }),
        );
    });
  };
  const terminating = (name: string) => {
    const entry = engine.store.get(namespaceKind.storage, name);
    return entry !== undefined && phaseOf(entry.object) === 'Terminating';
  };
  for (const name of engine.store.keys(namespaceKind.storage)) if (terminating(name)) look(name);
  engine.store.onChange((storage, changes) => {
    for (const { key, after } of changes) {
      const name =
        storage.id === namespaceKind.storage.id ? key : key.slice(0, Math.max(0, key.indexOf('/')));
      if (
        (storage.id === namespaceKind.storage.id ? after !== undefined : after === undefined) &&
        terminating(name)
      )
        look(name);
    }
  });
  return () => {
    closed = true;
  };
}

function emptyOne(engine: Engine, kinds: readonly Kind[], transaction: Transaction, name: string): void {
  const entry = transaction.get(namespaceKind.storage, name);
  if (entry === undefined || phaseOf(entry.object) !== 'Terminating') return;
  const options = {
    propagationPolicy: 'Background' as const,
    uid: undefined,
    resourceVersion: undefined,
    dryRun: false,
  };
  let left = 0;
  for (const kind of kinds)
    for (const key of [...transaction.keys(kind.storage)]) {
      const object = key.startsWith(`${name}/`) ? transaction.get(kind.storage, key) : undefined;
      if (object !== undefined && erase(engine, transaction, kind, key, object, options).kind !== 'Status')
        left += 1;
    }
  if (left > 0) return;
  const empty = cloneJson(entry.object);
  const spec = empty['spec'] as { finalizers?: string[] } | undefined;
  empty['spec'] = { finalizers: (spec?.finalizers ?? []).filter((one) => one !== 'kubernetes') };
  if (isFinished(empty)) transaction.remove(namespaceKind.storage, name, empty);
}
