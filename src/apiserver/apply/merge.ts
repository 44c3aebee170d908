import { isObject } from '#kit/json.ts';
import { cloneJson, getOwn, setOwn } from '../object.ts';
import type { Schema } from '../schema/schema.ts';
import { FieldSet } from './field-set.ts';
import { elementOf, isNamed, memberOf, shapeOf } from './shape.ts';
import { itemsByElement } from './walk.ts';

/** `live` with everything that `config` says laid over it; a copy. */
export function mergeConfig(schema: Schema | undefined, live: unknown, config: unknown): unknown {
  if (config === undefined) return cloneJson(live);
  // Null says nothing about what is below: where something is, it stays.
  if (config === null && shapeOf(schema, live) !== 'leaf' && Object.keys(live as object).length > 0)
    return cloneJson(live);
  const shape = shapeOf(schema, config);
  if (shape === 'leaf' || live === undefined || live === null) return cloneJson(config);
  if (shape === 'map')
    return isObject(live) ? mergeMembers(schema, live, config as Record<string, unknown>) : cloneJson(config);
  return Array.isArray(live) ? mergeItems(schema, live, config as readonly unknown[]) : cloneJson(config);
}

function mergeMembers(
  schema: Schema | undefined,
  live: Record<string, unknown>,
  config: Record<string, unknown>,
): Record<string, unknown> {
  const merged: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(live), ...Object.keys(config)]))
    setOwn(merged, key, mergeConfig(memberOf(schema, key), getOwn(live, key), getOwn(config, key)));
  return merged;
}

/**
 * Items of both lists once. The configuration's order holds for its own items; items that only the live list
 * has stay as near to their place as that allows (structured-merge-diff's mergeListItems).
 */
function mergeItems(
  schema: Schema | undefined,
  live: readonly unknown[],
  config: readonly unknown[],
): unknown[] {
  const liveItems = itemsByElement(schema, live);
  const configItems = itemsByElement(schema, config);
  const left = live.map((item) => elementOf(schema, item));
  const right = [...configItems.keys()];
  const shared = right.filter((element) => liveItems.has(element));
  const done = new Set<string>();
  const merged: unknown[] = [];
  let nextShared = 0;
  const take = (element: string) => {
    done.add(element);
    merged.push(mergeConfig(schema?.items, liveItems.get(element), configItems.get(element)));
    if (shared[nextShared] === element) nextShared += 1;
  };
  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    const fromLive = left[l];
    const fromConfig = right[r];
    if (fromLive !== undefined && fromConfig !== undefined) {
      if (fromLive === fromConfig) {
        take(fromLive);
        l += 1;
        r += 1;
        continue;
      }
      if (configItems.has(fromLive) && nextShared < shared.length && shared[nextShared] !== fromLive) {
        l += 1;
        continue;
      }
    }
    if (fromLive !== undefined && !configItems.has(fromLive)) {
      if (!done.has(fromLive)) take(fromLive);
      l += 1;
      continue;
    }
    if (fromLive !== undefined && done.has(fromLive)) l += 1;
    if (fromConfig !== undefined) {
      if (!done.has(fromConfig)) take(fromConfig);
      r += 1;
    }
  }
  return merged;
}

/**
 * `value` without the fields and items that are members of `set`, nor anything below them; a copy.
 * An object or list that loses all it had becomes null, as in structured-merge-diff.
 */
export function removeFields(schema: Schema | undefined, value: unknown, set: FieldSet): unknown {
  const shape = shapeOf(schema, value);
  if (shape === 'map') {
    const kept: Record<string, unknown> = {};
    for (const [key, member] of Object.entries(value as Record<string, unknown>)) {
      const element = `f:${key}`;
      if (set.members.has(element)) continue;
      const below = set.children.get(element);
      const rest = below === undefined ? member : removeFields(memberOf(schema, key), member, below);
      setOwn(kept, key, rest);
    }
    return Object.keys(kept).length === 0 ? null : kept;
  }
  if (shape !== 'list') return value;
  const kept: unknown[] = [];
  for (const item of value as readonly unknown[]) {
    const element = elementOf(schema, item);
    if (set.members.has(element)) continue;
    const below = set.children.get(element);
    kept.push(below === undefined ? item : removeFields(schema?.items, item, below));
  }
  return kept.length === 0 ? null : kept;
}

/** The set with every named field that has members below it as a member too. */
export function withNamedFields(schema: Schema | undefined, set: FieldSet): FieldSet {
  const result = new FieldSet();
  for (const member of set.members) result.members.add(member);
  for (const [element, child] of set.children) {
    const key = element.slice(2);
    const isField = element.startsWith('f:');
    if (isField && isNamed(schema, key)) result.members.add(element);
    result.children.set(element, withNamedFields(isField ? memberOf(schema, key) : schema?.items, child));
  }
  return result;
}
