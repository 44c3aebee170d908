import { isObject } from '#kit/json.ts';
import { cloneJson, getOwn, setOwn } from '../object.ts';

/** JSON merge patch (RFC 7396): the patched copy; `target` and `patch` are left as they are. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return cloneJson(patch);
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null) delete result[key];
    else setOwn(result, key, mergePatch(getOwn(result, key), value));
  }
  return result;
}
