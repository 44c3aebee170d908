import { isObject } from '#kit/json.ts';
import { cloneJson, getOwn, setOwn } from '../object.ts';

/**
 * JSON merge patch (RFC 7396): the patched copy; `target` and `patch` are left as they are.
 * Objects inside a list of the patch lose their nulls too, unless an object was in the list's place: the API
 * server's library does so.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return isObject(target) ? cloneJson(patch) : withoutNulls(patch);
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null) delete result[key];
    else setOwn(result, key, mergePatch(getOwn(result, key), value));
  }
  return result;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(value)) if (value[key] !== null) setOwn(kept, key, withoutNulls(value[key]));
  return kept;
}
