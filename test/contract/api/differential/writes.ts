import fc from 'fast-check';
import type { Schema } from '#apiserver/schema/schema.ts';
import { applyType, jsonPatchType, mergeType, strategicType } from '../suite.ts';
import {
  drawn,
  dryRun,
  hold,
  type Json,
  metadataOf,
  nothing,
  objectOf,
  optional,
  queryOf,
  validation,
  writing,
} from './objects.ts';
import type { Request } from './request.ts';
import type { Subject } from './subjects.ts';
import { type Care, drawValue, patchOf, placesOf } from './values.ts';

const version = fc.constantFrom('$fresh', '$fresh', '$stale');

export function create(subject: Subject): fc.Arbitrary<Request> {
  return drawn((level) =>
    fc.tuple(objectOf(subject, level), writing).map(([body, query]) => (name) => ({
      method: 'POST',
      path: `${subject.plural}${query}`,
      body: body(name),
    })),
  );
}

export function update(subject: Subject): fc.Arbitrary<Request> {
  const change = (level: Care) =>
    fc.tuple(
      patchOf(subject.schema, level),
      fc.oneof(nothing, metadataOf(level)),
      fc.oneof(
        { weight: 3, arbitrary: nothing },
        { weight: 1, arbitrary: version.map((resourceVersion) => ({ resourceVersion })) },
      ),
    );
  return drawn((level) =>
    fc.oneof(
      fc.tuple(change(level), writing).map(([[content, meta, at], query]) => (name: string) => ({
        method: 'PUT',
        path: `${subject.plural}/${name}${query}`,
        change: { ...(content as Json), metadata: { ...meta, ...at } },
      })),
      fc
        .tuple(objectOf(subject, level), version, writing)
        .map(([body, resourceVersion, query]) => (name: string) => {
          const object = body(name);
          return {
            method: 'PUT',
            path: `${subject.plural}/${name}${query}`,
            body: { ...object, metadata: { ...(object['metadata'] as Json), resourceVersion } },
          };
        }),
    ),
  );
}

export function merge(subject: Subject): fc.Arbitrary<Request> {
  const types = subject.strategic ? [mergeType, strategicType] : [mergeType];
  return drawn((level) =>
    fc
      .tuple(
        patchOf(subject.schema, level),
        fc.oneof(
          { weight: 3, arbitrary: nothing },
          { weight: 1, arbitrary: metadataOf(level).map((one) => ({ metadata: one })) },
        ),
        writing,
        fc.constantFrom(...types),
      )
      .map(([content, meta, query, type]) => (name) => ({
        method: 'PATCH',
        path: `${subject.plural}/${name}${query}`,
        body: { ...(content as Json), ...meta },
        type,
      })),
  );
}

export function operations(subject: Subject): fc.Arbitrary<Request> {
  const meta: { pointer: string; schema: Schema }[] = [
    { pointer: '/metadata/labels/app', schema: { type: 'string' } },
    { pointer: '/metadata/finalizers', schema: { enum: [[hold], [], [hold, 'x.y/z']] } },
  ];
  const places = [...placesOf(subject.schema, '', 4), ...meta];
  const from = fc.constantFrom(...places.map((one) => one.pointer));
  const verb = fc.constantFrom('add', 'add', 'replace', 'remove', 'test', 'copy', 'move');
  const operation = (level: Care) =>
    fc.oneof(
      ...places.map(({ pointer, schema }) =>
        fc.tuple(verb, drawValue(schema, level), from).map(([op, value, other]) => {
          if (op === 'remove') return { op, path: pointer };
          if (op === 'copy' || op === 'move') return { op, from: other, path: pointer };
          // A test against a list with null in it makes the real server panic and cut the connection.
          const panics = op === 'test' && JSON.stringify(value).includes('null');
          return { op: panics ? 'add' : op, path: pointer, value };
        }),
      ),
    );
  return drawn((level) =>
    fc
      .tuple(fc.array(operation(level), { minLength: 1, maxLength: 3 }), writing)
      .map(([body, query]) => (name) => ({
        method: 'PATCH',
        path: `${subject.plural}/${name}${query}`,
        body,
        type: jsonPatchType,
      })),
  );
}

/**
 * Without empty maps and lists in the metadata: the real server stores those of a custom object, though it never
 * shows them, so that the next write of the same is one more version.
 */
function withoutEmpty(body: Json): Json {
  const kept = Object.entries(body['metadata'] as Json).filter(
    ([, value]) => typeof value !== 'object' || (value !== null && Object.keys(value).length > 0),
  );
  return { ...body, metadata: Object.fromEntries(kept) };
}

export function apply(subject: Subject): fc.Arbitrary<Request> {
  const query = fc
    .tuple(
      fc.constantFrom('fieldManager=one', 'fieldManager=two', 'fieldManager=three'),
      optional(['force=true'], 4),
      dryRun,
      validation,
    )
    .map(queryOf);
  return drawn((level) =>
    fc.tuple(objectOf(subject, level), query).map(([body, text]) => (name) => ({
      method: 'PATCH',
      path: `${subject.plural}/${name}${text}`,
      body: subject.strategic ? body(name) : withoutEmpty(body(name)),
      type: applyType,
    })),
  );
}
