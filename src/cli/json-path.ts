import { isObject } from '#kit/json.ts';

/**
 * The value at a path as printer columns write it: `.spec.tool`, `.status.conditions[?(@.type=="Ready")].status`.
 * Undefined when something on the way is missing. No other part of JSONPath is known here.
 */
export function valueAtPath(root: unknown, path: string): unknown {
  let value = root;
  for (const [, name, filterKey, filterValue] of path.matchAll(segment)) {
    value = name === undefined ? findItem(value, filterKey ?? '', filterValue ?? '') : memberOf(value, name);
  }
  return value;
}

const segment = /\.([A-Za-z0-9_-]+)|\[\?\(@\.([A-Za-z0-9_-]+)=="([^"]*)"\)\]/g;

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function findItem(value: unknown, key: string, wanted: string): unknown {
  return Array.isArray(value) ? value.find((item) => memberOf(item, key) === wanted) : undefined;
}
