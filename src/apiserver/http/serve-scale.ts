import { methodNotAllowed, notFound } from '../api-error.ts';
import type { Engine } from '../engine.ts';
import { unsupportedMediaType } from '../verbs/decode.ts';
import { patchTypes } from '../verbs/patch-types.ts';
import { scaleOf, writeScale } from '../verbs/scale.ts';
import { keyOf, type NamedTarget } from '../verbs/target.ts';
import { parseJson, readBody } from './body.ts';
import type { Exchange } from './exchange.ts';
import { readWriteOptions } from './write-options.ts';

/** GET, PUT and PATCH of /scale. */
export async function serveScale(engine: Engine, exchange: Exchange, target: NamedTarget): Promise<void> {
  if (exchange.method === 'GET' || exchange.method === 'HEAD') {
    const entry = engine.store.get(target.kind.storage, keyOf(target, target.name));
    if (entry === undefined) throw notFound(target.kind, target.name);
    exchange.json(200, scaleOf(target.kind, entry.object));
    return;
  }
  if (exchange.method !== 'PUT' && exchange.method !== 'PATCH') throw methodNotAllowed();
  const patch = exchange.method === 'PATCH';
  const types: string[] = patch
    ? [patchTypes.json, patchTypes.merge, patchTypes.strategic]
    : ['application/json', ''];
  if (!types.includes(exchange.contentType)) throw unsupportedMediaType(types);
  const options = readWriteOptions(exchange);
  const body = parseJson(await readBody(exchange, engine.limits.bodyBytes));
  exchange.json(
    200,
    await writeScale(engine, target, patch ? exchange.contentType : undefined, body, options),
  );
}
