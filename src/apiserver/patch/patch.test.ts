import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ApiError } from '../api-error.ts';
import type { Schema } from '../schema/schema.ts';
import { jsonPatch } from './json-patch.ts';
import { mergePatch } from './merge-patch.ts';
import { strategicMerge } from './strategic-merge.ts';

test('JSON patch does what the examples of RFC 6902 do', () => {
  const table: [target: unknown, operations: unknown[], result: unknown][] = [
    [{ foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux' }], { baz: 'qux', foo: 'bar' }],
    [{ foo: ['bar', 'baz'] }, [{ op: 'add', path: '/foo/1', value: 'qux' }], { foo: ['bar', 'qux', 'baz'] }],
    [{ foo: ['bar'] }, [{ op: 'add', path: '/foo/-', value: 'x' }], { foo: ['bar', 'x'] }],
    [{ foo: ['bar', 'qux', 'baz'] }, [{ op: 'remove', path: '/foo/1' }], { foo: ['bar', 'baz'] }],
    [{ a: { b: 1 }, c: {} }, [{ op: 'move', from: '/a/b', path: '/c/d' }], { a: {}, c: { d: 1 } }],
    [{ a: [1] }, [{ op: 'copy', from: '/a', path: '/b' }], { a: [1], b: [1] }],
    [{ '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
    [{ a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }], { b: 2 }],
  ];
  for (const [target, operations, result] of table) assert.deepEqual(jsonPatch(target, operations), result);
  for (const path of ['/none/x', '/a/5', '/a/01', '/a/-'])
    assert.throws(() => jsonPatch({ a: [1] }, [{ op: 'remove', path }]), ApiError);
});

test('a merge patch made from two objects turns one into the other', () => {
  const json = fc.dictionary(fc.string(), fc.oneof(fc.integer(), fc.string(), fc.array(fc.integer())));
  fc.assert(
    fc.property(json, json, (from, to) => {
      const gone = Object.keys(from).filter((key) => !Object.hasOwn(to, key));
      const patch = Object.fromEntries([...Object.entries(to), ...gone.map((key) => [key, null])]);
      assert.deepEqual(Object.entries(mergePatch(from, patch) as object).sort(), Object.entries(to).sort());
    }),
  );
});

const schema: Schema = {
  type: 'object',
  properties: {
    keyed: {
      type: 'array',
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'name',
      items: { type: 'object', properties: { name: { type: 'string' }, size: { type: 'integer' } } },
    },
    names: { type: 'array', 'x-kubernetes-patch-strategy': 'merge', items: { type: 'string' } },
    plain: { type: 'array', items: { type: 'string' } },
  },
};

test('strategic merge merges lists by key or as sets, and follows its directives', () => {
  const target = {
    keyed: [
      { name: 'a', size: 1 },
      { name: 'b', size: 2 },
    ],
    names: ['x', 'y'],
    plain: ['1'],
    map: { k: 1 },
  };
  const table: [patch: Record<string, unknown>, changed: Record<string, unknown>][] = [
    [
      { keyed: [{ name: 'b', size: 3 }, { name: 'c' }] },
      { keyed: [{ name: 'a', size: 1 }, { name: 'b', size: 3 }, { name: 'c' }] },
    ],
    [{ keyed: [{ name: 'a', $patch: 'delete' }] }, { keyed: [{ name: 'b', size: 2 }] }],
    [{ keyed: [{ $patch: 'replace' }, { name: 'z' }] }, { keyed: [{ name: 'z' }] }],
    [{ names: ['y', 'z'] }, { names: ['x', 'y', 'z'] }],
    [{ '$deleteFromPrimitiveList/names': ['x'] }, { names: ['y'] }],
    [{ names: ['z'], '$setElementOrder/names': ['z', 'x', 'y'] }, { names: ['z', 'x', 'y'] }],
    [{ plain: ['2'] }, { plain: ['2'] }],
    [{ map: { $patch: 'replace', n: 1 } }, { map: { n: 1 } }],
    [{ map: null }, { map: undefined }],
  ];
  for (const [patch, changed] of table) {
    const expected = JSON.parse(JSON.stringify({ ...target, ...changed }));
    assert.deepEqual(strategicMerge(schema, target, patch), expected, JSON.stringify(patch));
  }
});
