import { ApiError, badRequest } from '../api-error.ts';
import type { Engine } from '../engine.ts';
import { type FieldError, forbiddenField, invalid, notSupported } from '../field-error.ts';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';
import type { FieldSelector } from '../selectors/field-selector.ts';
import type { LabelSelector } from '../selectors/label-selector.ts';
import type { Entry } from '../store/history.ts';
import { keyOf, type Target } from './target.ts';

export interface ListOptions {
  readonly labels: LabelSelector | undefined;
  readonly fields: FieldSelector | undefined;
  readonly limit: number;
  readonly continueToken: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly resourceVersionMatch: string | undefined;
}

/** One page of a list: entries of one moment, in order of their keys. */
export interface Page {
  readonly entries: readonly Entry[];
  readonly version: number;
  readonly continueToken: string | undefined;
  /** Left out when selectors make it unknown. */
  readonly remaining: number | undefined;
}

interface Position {
  /** The version that all pages of one list show. */
  readonly v: number;
  /** The last key of the page before. */
  readonly k: string;
}

/** Reads one page. Throws 400 for a bad token, 410 when the moment it belongs to is no longer known, 504 for the future. */
export function listObjects(engine: Engine, target: Target, options: ListOptions): Page {
  checkMatch(options);
  const position = readPosition(options);
  const version = snapshotVersion(engine, options, position);
  const read = reader(engine, target.kind, version);
  const prefix = target.namespace === undefined ? '' : `${target.namespace}/`;
  // A list at any version, 0, comes whole: the API server answers it from its cache.
  const paged = options.limit > 0 && (options.resourceVersion !== '0' || position !== undefined);
  const limit = Math.min(paged ? options.limit : engine.limits.listItems, engine.limits.listItems);
  const keys = candidateKeys(read.keys, target, options, prefix, position?.k);
  const entries: Entry[] = [];
  let used = 0;
  let last = '';
  for (const key of keys) {
    if (entries.length === limit) break;
    used += 1;
    last = key;
    const entry = read.get(key);
    if (entry !== undefined && selects(options, entry.object)) entries.push(entry);
  }
  const more = used < keys.length;
  const selecting = options.labels !== undefined || options.fields !== undefined;
  return {
    entries,
    version,
    continueToken: more ? writePosition({ v: version, k: last }) : undefined,
    remaining: more && !selecting ? keys.length - used : undefined,
  };
}

export function selects(options: Pick<ListOptions, 'labels' | 'fields'>, object: ApiObject): boolean {
  if (options.labels !== undefined && !options.labels(object.metadata.labels ?? {})) return false;
  return options.fields === undefined || options.fields.matches(object);
}

function candidateKeys(
  all: readonly string[],
  target: Target,
  options: ListOptions,
  prefix: string,
  after: string | undefined,
): readonly string[] {
  const name = options.fields?.name;
  const exact =
    name !== undefined && (!target.kind.namespaced || target.namespace !== undefined)
      ? keyOf(target, name)
      : undefined;
  if (exact === undefined && prefix === '' && after === undefined) return all;
  return all.filter(
    (key) =>
      key.startsWith(prefix) &&
      (after === undefined || key > after) &&
      (exact === undefined || key === exact),
  );
}

function snapshotVersion(engine: Engine, options: ListOptions, position: Position | undefined): number {
  if (position !== undefined) return position.v;
  const { resourceVersion, resourceVersionMatch } = options;
  const now = engine.store.version;
  if (resourceVersion === undefined || resourceVersion === '' || resourceVersion === '0') {
    return now;
  }
  const wanted = parseVersion(resourceVersion);
  if (wanted > now) throw tooLarge(wanted, now);
  const exact = resourceVersionMatch === 'Exact' || (resourceVersionMatch === undefined && options.limit > 0);
  return exact ? wanted : now;
}

/** What metav1's ValidateListOptions refuses. */
function checkMatch({ resourceVersionMatch: match, resourceVersion, continueToken }: ListOptions): void {
  if (match === undefined) return;
  const field = 'resourceVersionMatch';
  const errors: FieldError[] = [];
  if (!resourceVersion)
    errors.push(forbiddenField(field, `${field} is forbidden unless resourceVersion is provided`));
  if (continueToken) errors.push(forbiddenField(field, `${field} is forbidden when continue is provided`));
  if (match !== 'Exact' && match !== 'NotOlderThan')
    errors.push(notSupported(field, match, ['Exact', 'NotOlderThan', '']));
  if (match === 'Exact' && resourceVersion === '0')
    errors.push(forbiddenField(field, `${field} "exact" is forbidden for resourceVersion "0"`));
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', plural: '', kind: 'ListOptions' }, '', errors);
}

/** A resourceVersion as a number. Throws 400. */
export function parseVersion(text: string): number {
  if (!/^\d{1,15}$/.test(text))
    throw badRequest(`invalid resource version ${JSON.stringify(text)}: it is not a number`);
  return Number(text);
}

export function tooLarge(wanted: number, now: number): ApiError {
  return new ApiError('Timeout', `Too large resource version: ${wanted}, current: ${now}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

/** 410 for a moment that is no longer known: the client lists anew. */
export function expired(wanted: number, oldest: number): ApiError {
  return new ApiError('Expired', `too old resource version: ${wanted} (${oldest})`);
}

function reader(engine: Engine, kind: Kind, version: number) {
  const { store } = engine;
  const current = (key: string) => store.get(kind.storage, key);
  if (version === store.version) return { keys: store.keys(kind.storage), get: current };
  const later = store.history(kind.storage).since(version);
  if (later === undefined)
    throw new ApiError(
      'Expired',
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    );
  const then = new Map<string, Entry | undefined>();
  for (const change of later) if (!then.has(change.key)) then.set(change.key, change.before);
  const keys = new Set(store.keys(kind.storage));
  for (const [key, entry] of then) if (entry !== undefined) keys.add(key);
  return {
    keys: [...keys].filter((key) => !then.has(key) || then.get(key) !== undefined).sort(),
    get: (key: string) => (then.has(key) ? then.get(key) : current(key)),
  };
}

function readPosition(options: ListOptions): Position | undefined {
  if (options.continueToken === undefined || options.continueToken === '') return undefined;
  if (options.resourceVersion && options.resourceVersion !== '0')
    throw badRequest('specifying resource version is not allowed when using continue');
  try {
    const position = JSON.parse(
      Buffer.from(options.continueToken, 'base64url').toString(),
    ) as Partial<Position>;
    if (typeof position.v === 'number' && typeof position.k === 'string')
      return { v: position.v, k: position.k };
  } catch {
    // answered below
  }
  throw badRequest('continue key is not valid: it was not made by this server');
}

function writePosition(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** The metadata of a list answer. */
export function listMeta(kind: Kind, page: Page): Record<string, unknown> {
  return {
    resourceVersion: String(page.version),
    ...(page.continueToken === undefined && !kind.custom ? {} : { continue: page.continueToken ?? '' }),
    ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
  };
}

/** The JSON of a list, put together from the cached JSON of its items. */
export function listJson(kind: Kind, metadata: Record<string, unknown>, items: readonly string[]): string {
  const head = JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.listKind, metadata });
  return `${head.slice(0, -1)},"items":[${items.join(',')}]}`;
}
