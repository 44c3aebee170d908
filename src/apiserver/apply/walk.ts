import { isObject } from '#kit/json.ts';
import { equalJson, getOwn } from '../object.ts';
import type { Schema } from '../schema/schema.ts';
import { FieldSet } from './field-set.ts';
import { elementOf, isNamed, memberOf, shapeOf } from './shape.ts';

/** Every field that a value says something about: what its applier owns. */
export function fieldsOf(schema: Schema | undefined, value: unknown): FieldSet {
  const set = new FieldSet();
  collect(schema, value, [], set);
  return set;
}

function collect(schema: Schema | undefined, value: unknown, path: readonly string[], set: FieldSet): void {
  const shape = shapeOf(schema, value);
  if (shape === 'leaf') set.insert(path);
  else if (shape === 'list') {
    const items = value as readonly unknown[];
    for (const item of items) {
      const at = [...path, elementOf(schema, item)];
      collect(schema?.items, item, at, set);
      set.insert(at);
    }
  } else {
    for (const [key, member] of Object.entries(value as Record<string, unknown>)) {
      const at = [...path, `f:${key}`];
      collect(memberOf(schema, key), member, at, set);
      const empty = member === null || (isObject(member) && Object.keys(member).length === 0);
      if (empty || !isNamed(schema, key)) set.insert(at);
    }
  }
}

/** What differs between two values. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** Compares field by field (structured-merge-diff's Compare). */
export function compare(schema: Schema, before: unknown, after: unknown): Comparison {
  const comparison = { added: new FieldSet(), modified: new FieldSet(), removed: new FieldSet() };
  visit(schema, before, after, [], comparison);
  return comparison;
}

function visit(
  schema: Schema | undefined,
  before: unknown,
  after: unknown,
  path: readonly string[],
  comparison: Comparison,
): void {
  if (before === undefined && after === undefined) return;
  const shape = commonShape(schema, before, after);
  if (shape === 'map') visitMembers(schema, before, after, path, comparison);
  else if (shape === 'list') visitItems(schema, before, after, path, comparison);
  if (before === undefined) comparison.added.insert(path);
  else if (after === undefined) comparison.removed.insert(path);
  else if (shape === 'leaf' && !equalJson(before, after)) comparison.modified.insert(path);
}

/** A value that is missing takes the other's shape; empty against empty, or of two shapes, is a leaf. */
function commonShape(schema: Schema | undefined, before: unknown, after: unknown) {
  const isVoid = (value: unknown) =>
    value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
  if (isVoid(before) && isVoid(after)) return 'leaf';
  if (before === undefined || before === null) return shapeOf(schema, after);
  if (after === undefined || after === null) return shapeOf(schema, before);
  const shape = shapeOf(schema, after);
  return shape === shapeOf(schema, before) ? shape : 'leaf';
}

function visitMembers(
  schema: Schema | undefined,
  before: unknown,
  after: unknown,
  path: readonly string[],
  comparison: Comparison,
): void {
  const left = isObject(before) ? before : {};
  const right = isObject(after) ? after : {};
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)]))
    visit(memberOf(schema, key), getOwn(left, key), getOwn(right, key), [...path, `f:${key}`], comparison);
}

function visitItems(
  schema: Schema | undefined,
  before: unknown,
  after: unknown,
  path: readonly string[],
  comparison: Comparison,
): void {
  const left = itemsByElement(schema, before);
  const right = itemsByElement(schema, after);
  for (const element of new Set([...left.keys(), ...right.keys()]))
    visit(schema?.items, left.get(element), right.get(element), [...path, element], comparison);
}

/** Items of a set or map list by their path element; the first of two that are equal. */
export function itemsByElement(schema: Schema | undefined, list: unknown): Map<string, unknown> {
  const items = new Map<string, unknown>();
  for (const item of Array.isArray(list) ? list : []) {
    const element = elementOf(schema, item);
    if (!items.has(element)) items.set(element, item);
  }
  return items;
}
