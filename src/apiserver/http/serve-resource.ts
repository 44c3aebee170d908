import { ApiError, methodNotAllowed, notFound } from '../api-error.ts';
import type { Engine } from '../engine.ts';
import { tableJson } from '../table/table.ts';
import { createObject } from '../verbs/create.ts';
import { unsupportedMediaType } from '../verbs/decode.ts';
import { deleteCollection, deleteObject, readDeleteOptions } from '../verbs/delete.ts';
import { listJson, listMeta, selects } from '../verbs/list.ts';
import { partialJson } from '../verbs/partial.ts';
import { patchObject } from '../verbs/patch.ts';
import { supportedPatchTypes } from '../verbs/patch-types.ts';
import { keyOf, type NamedTarget, type Target } from '../verbs/target.ts';
import { updateObject } from '../verbs/update.ts';
import { itemOf, jsonOut, viewOut } from '../verbs/view.ts';
import { parseJson, readBody, readObjectBody } from './body.ts';
import type { Exchange } from './exchange.ts';
import { includeObject, notAcceptable, readListOptions, serveList, wantedOf } from './serve-list.ts';
import { serveScale } from './serve-scale.ts';
import { isTrue, serveWatch, serveWatchError } from './serve-watch.ts';
import { readWriteOptions } from './write-options.ts';

/** Answers a request for an object or a collection. Failures are thrown as ApiError. */
export async function serveResource(engine: Engine, exchange: Exchange, target: Target): Promise<void> {
  if (target.name === undefined) return await serveCollection(engine, exchange, target);
  const named: NamedTarget = { ...target, name: target.name };
  if (named.subresource === 'scale') return await serveScale(engine, exchange, named);
  switch (exchange.method) {
    case 'GET':
    case 'HEAD':
      return serveGet(engine, exchange, named);
    case 'PUT': {
      const options = readWriteOptions(exchange);
      const body = await readObjectBody(exchange, engine.limits.bodyBytes, options.duplicates);
      const { object, created } = await updateObject(engine, named, body, options);
      return exchange.json(created ? 201 : 200, object);
    }
    case 'PATCH':
      return await servePatch(engine, exchange, named);
    case 'DELETE': {
      if (named.subresource !== undefined) throw methodNotAllowed();
      const body = await readObjectBody(exchange, engine.limits.bodyBytes);
      return exchange.json(200, await deleteObject(engine, named, readDeleteOptions(body, exchange.query)));
    }
    default:
      throw methodNotAllowed();
  }
}

async function serveCollection(engine: Engine, exchange: Exchange, target: Target): Promise<void> {
  switch (exchange.method) {
    case 'GET':
    case 'HEAD':
      if (!isTrue(exchange.query.get('watch'))) return serveList(engine, exchange, target);
      return serveWatchOrError(engine, exchange, target);
    case 'POST': {
      const options = readWriteOptions(exchange);
      const body = await readObjectBody(exchange, engine.limits.bodyBytes, options.duplicates);
      return exchange.json(201, await createObject(engine, target, body, options));
    }
    case 'DELETE': {
      const { kind } = target;
      if (kind.kind === 'Namespace' || (kind.namespaced && target.namespace === undefined))
        throw methodNotAllowed();
      const body = await readObjectBody(exchange, engine.limits.bodyBytes);
      const options = readListOptions(exchange, target);
      const deleteOptions = readDeleteOptions(body, exchange.query);
      const deleted = await deleteCollection(
        engine,
        target,
        (object) => selects(options, object),
        deleteOptions,
      );
      const items = deleted.map((object) => itemOf(kind, object));
      return exchange.json(
        200,
        listJson(
          kind,
          listMeta(kind, {
            entries: [],
            version: engine.store.version,
            continueToken: undefined,
            remaining: undefined,
          }),
          items,
        ),
      );
    }
    default:
      throw methodNotAllowed();
  }
}

function serveWatchOrError(engine: Engine, exchange: Exchange, target: Target): void {
  try {
    serveWatch(engine, exchange, target);
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== 'Expired') throw error;
    serveWatchError(exchange, error);
  }
}

function serveGet(engine: Engine, exchange: Exchange, target: NamedTarget): void {
  const { kind } = target;
  const wanted = wantedOf(exchange);
  const entry = engine.store.get(kind.storage, keyOf(target, target.name));
  if (entry === undefined) throw notFound(kind, target.name);
  if (wanted.type === 'partial' && wanted.list === true)
    throw notAcceptable('you requested PartialObjectMetadataList, but the requested object is not a list');
  if (wanted.type === 'json') exchange.json(200, jsonOut(kind, entry));
  else if (wanted.type === 'partial')
    exchange.json(200, partialJson(viewOut(kind, entry.object), wanted.version));
  else {
    const meta = { resourceVersion: String(entry.version) };
    const include = includeObject(exchange);
    exchange.json(200, tableJson(kind, wanted.version, meta, [entry.object], engine.clock.now(), include));
  }
}

async function servePatch(engine: Engine, exchange: Exchange, target: NamedTarget): Promise<void> {
  const options = readWriteOptions(exchange);
  const types = supportedPatchTypes(target.kind);
  if (!types.includes(exchange.contentType)) throw unsupportedMediaType(types);
  const body = parseJson(await readBody(exchange, engine.limits.bodyBytes));
  const { object, created } = await patchObject(engine, target, exchange.contentType, body, options);
  exchange.json(created ? 201 : 200, object);
}
