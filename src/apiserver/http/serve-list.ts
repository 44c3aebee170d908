import { ApiError } from '../api-error.ts';
import type { Engine } from '../engine.ts';
import { invalid, notSupported } from '../field-error.ts';
import { parseFieldSelector } from '../selectors/field-selector.ts';
import { parseLabelSelector } from '../selectors/label-selector.ts';
import { tableJson } from '../table/table.ts';
import { type ListOptions, listJson, listMeta, listObjects } from '../verbs/list.ts';
import { partialJson } from '../verbs/partial.ts';
import type { Target } from '../verbs/target.ts';
import { itemJson, viewOut } from '../verbs/view.ts';
import { negotiate, type Wanted } from './accept.ts';
import type { Exchange } from './exchange.ts';

/** GET of a collection. */
export function serveList(engine: Engine, exchange: Exchange, target: Target): void {
  const wanted = wantedOf(exchange);
  const page = listObjects(engine, target, readListOptions(exchange, target));
  if (wanted.type === 'partial' && wanted.list === false)
    throw notAcceptable('you requested PartialObjectMetadata, but the requested object is a list');
  const meta = listMeta(target.kind, page);
  if (meta['continue'] === '' && wanted.type !== 'json') delete meta['continue'];
  if (wanted.type === 'table') {
    const objects = page.entries.map((entry) => entry.object);
    exchange.json(
      200,
      tableJson(target.kind, wanted.version, meta, objects, engine.clock.now(), includeObject(exchange)),
    );
  } else if (wanted.type === 'partial') {
    const items = page.entries.map((entry) =>
      partialJson(viewOut(target.kind, entry.object), wanted.version),
    );
    const head = JSON.stringify({
      kind: 'PartialObjectMetadataList',
      apiVersion: `meta.k8s.io/${wanted.version}`,
      metadata: meta,
    });
    exchange.json(
      200,
      `${head.slice(0, -1)},"items":${items.length === 0 ? 'null' : `[${items.join(',')}]`}}`,
    );
  } else {
    exchange.json(
      200,
      listJson(
        target.kind,
        meta,
        page.entries.map((entry) => itemJson(target.kind, entry)),
      ),
    );
  }
}

export function notAcceptable(message: string): ApiError {
  return new ApiError('NotAcceptable', message);
}

/** What the client wants, or 406. */
export function wantedOf(exchange: Exchange): Wanted {
  const wanted = negotiate(exchange.header('accept'));
  if (wanted === undefined)
    throw notAcceptable(
      'only the following media types are accepted: application/json, application/json;as=Table;v=v1;g=meta.k8s.io',
    );
  return wanted;
}

/** How much of each object a Table row carries. */
export function includeObject(exchange: Exchange): 'None' | 'Metadata' | 'Object' {
  const value = exchange.query.get('includeObject') || 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  throw invalid({ group: 'meta.k8s.io', plural: '', kind: 'TableOptions' }, '', [
    notSupported('includeObject', value, ['None', 'Metadata', 'Object']),
  ]);
}

/** Selectors and paging from the query. */
export function readListOptions(exchange: Exchange, target: Target): ListOptions {
  const { query } = exchange;
  const limit = Number(query.get('limit') ?? 0);
  return {
    labels: parseLabelSelector(query.get('labelSelector') ?? undefined),
    fields: parseFieldSelector(target.kind, query.get('fieldSelector') ?? undefined),
    limit: Number.isSafeInteger(limit) && limit > 0 ? limit : 0,
    continueToken: query.get('continue') ?? undefined,
    resourceVersion: query.get('resourceVersion') ?? undefined,
    resourceVersionMatch: query.get('resourceVersionMatch') || undefined,
  };
}
