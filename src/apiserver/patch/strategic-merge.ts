import { isObject } from '#kit/json.ts';
import { badRequest } from '../api-error.ts';
import { cloneJson, equalJson, getOwn, setOwn } from '../object.ts';
import { memberSchema, type Schema } from '../schema/schema.ts';

const directive = '$patch';
const retain = '$retainKeys';
const deletions = '$deleteFromPrimitiveList/';
const order = '$setElementOrder/';

/**
 * Strategic merge patch (the patch type of `kubectl edit`, `label` and `apply` for built-in kinds): like a merge patch,
 * but lists whose schema says so merge by their key or as sets, and directives say what is to be deleted or replaced.
 * Returns the patched copy. Throws 400 for a directive that is not known.
 */
export function strategicMerge(schema: Schema | undefined, target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return cloneJson(patch);
  const mode = patch[directive];
  if (mode === 'replace') return cloneJson(withoutDirectives(patch));
  if (mode === 'delete') return {};
  if (mode !== undefined && mode !== 'merge')
    throw badRequest(`Unknown patch type in strategic merge patch: ${String(mode)}`);
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  keepOnly(result, patch[retain]);
  for (const [key, value] of Object.entries(patch)) {
    if (key === directive || key === retain || key.startsWith(order)) continue;
    if (key.startsWith(deletions)) deleteValues(result, key.slice(deletions.length), value);
    else if (value === null) delete result[key];
    else
      setOwn(
        result,
        key,
        mergeMember(memberSchema(schema ?? {}, key), getOwn(result, key), value, patch[`${order}${key}`]),
      );
  }
  return result;
}

function mergeMember(schema: Schema | undefined, target: unknown, patch: unknown, wanted: unknown): unknown {
  if (!Array.isArray(patch)) return strategicMerge(schema, target, patch);
  if (schema?.['x-kubernetes-patch-strategy'] !== 'merge' || !Array.isArray(target)) {
    return cloneJson(patch.filter((item) => !isObject(item) || item[directive] === undefined));
  }
  const key = schema['x-kubernetes-patch-merge-key'];
  const merged = key === undefined ? mergeSet(target, patch) : mergeByKey(schema.items, key, target, patch);
  return reorder(merged, Array.isArray(wanted) ? wanted : patch, target, key);
}

function mergeSet(target: readonly unknown[], patch: readonly unknown[]): unknown[] {
  const both = [...target, ...patch];
  return both.filter((item, index) => both.findIndex((one) => equalJson(one, item)) === index);
}

function mergeByKey(
  schema: Schema | undefined,
  key: string,
  target: readonly unknown[],
  patch: readonly unknown[],
): unknown[] {
  if (patch.some((item) => isObject(item) && item[directive] === 'replace'))
    return cloneJson(patch.filter((item) => !isObject(item) || item[directive] !== 'replace'));
  let merged = [...target];
  for (const item of patch) {
    if (!isObject(item) || item[key] === undefined)
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    const same = (one: unknown) => isObject(one) && equalJson(one[key], item[key]);
    if (item[directive] === 'delete') merged = merged.filter((one) => !same(one));
    else if (merged.some(same))
      merged = merged.map((one) => (same(one) ? strategicMerge(schema, one, item) : one));
    else merged.push(strategicMerge(schema, {}, item));
  }
  return merged;
}

/**
 * Items that the order names come in that order; each other item comes before the first of them that followed it in
 * the list as it was, else behind all.
 */
function reorder(
  list: readonly unknown[],
  wanted: readonly unknown[],
  before: readonly unknown[],
  key: string | undefined,
): unknown[] {
  const same = (left: unknown, right: unknown) =>
    key === undefined
      ? equalJson(left, right)
      : isObject(left) && isObject(right) && equalJson(left[key], right[key]);
  const position = (item: unknown, order: readonly unknown[]) => order.findIndex((one) => same(one, item));
  const named = list
    .filter((item) => position(item, wanted) >= 0)
    .sort((left, right) => position(left, wanted) - position(right, wanted));
  const result: unknown[] = [];
  for (const item of list.filter((one) => position(one, wanted) < 0)) {
    const place = position(item, before);
    while (named[0] !== undefined) {
      const next = position(named[0], before);
      if (place >= 0 && next > place) break;
      result.push(named.shift());
    }
    result.push(item);
  }
  return [...result, ...named];
}

function deleteValues(result: Record<string, unknown>, field: string, values: unknown): void {
  const list = result[field];
  if (Array.isArray(list) && Array.isArray(values))
    result[field] = list.filter((item) => !values.some((value) => equalJson(item, value)));
}

function keepOnly(result: Record<string, unknown>, keys: unknown): void {
  if (!Array.isArray(keys)) return;
  for (const key of Object.keys(result)) if (!keys.includes(key)) delete result[key];
}

function withoutDirectives(patch: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(patch).filter(([key]) => !key.startsWith('$')));
}
