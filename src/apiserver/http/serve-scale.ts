import { methodNotAllowed, notFound } from '../api-error.ts';
import type { Engine } from '../engine.ts';
import { keyOf, type NamedTarget } from '../verbs/target.ts';
import type { Exchange } from './exchange.ts';

export async function serveScale(engine: Engine, exchange: Exchange, target: NamedTarget): Promise<void> {
  const entry = engine.store.get(target.kind.storage, keyOf(target, target.name));
  if (entry === undefined) throw notFound(target.kind, target.name);
  if (exchange.method !== 'GET') throw methodNotAllowed();
}
