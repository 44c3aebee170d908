import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject, ObjectMeta } from '#api/meta.ts';
import { exceptStatus, ownersOfKind } from './sources.ts';

function thing(metadata: Partial<ObjectMeta>): KubeObject {
  return {
    apiVersion: 'test.dev/v1',
    kind: 'Thing',
    metadata: { namespace: 'default', name: 'a', ...metadata },
  };
}

const base: Partial<ObjectMeta> = { uid: 'u', generation: 1, resourceVersion: '1', labels: { a: '1' } };

const changes: Record<string, { next: Partial<ObjectMeta>; counts: boolean }> = {
  'only the version, as a status write does': { next: { resourceVersion: '2' }, counts: false },
  'the spec': { next: { generation: 2 }, counts: true },
  'a label': { next: { labels: { a: '2' } }, counts: true },
  'an annotation': { next: { annotations: { x: 'y' } }, counts: true },
  'a finalizer': { next: { finalizers: ['f'] }, counts: true },
  'the beginning of deletion': { next: { deletionTimestamp: '2026-01-01T00:00:00Z' }, counts: true },
  'another object of the same name': { next: { uid: 'v' }, counts: true },
};

describe('exceptStatus', () => {
  for (const [name, { next, counts }] of Object.entries(changes)) {
    test(`${counts ? 'counts' : 'does not count'} a change of ${name}`, () => {
      const event = { type: 'updated', object: thing({ ...base, ...next }), old: thing(base) } as const;
      assert.equal(exceptStatus(event), counts);
    });
  }

  test('counts every change of a kind without generation, additions and deletions', () => {
    const { generation: _generation, ...plain } = base;
    assert.equal(exceptStatus({ type: 'updated', object: thing(plain), old: thing(plain) }), true);
    assert.equal(exceptStatus({ type: 'added', object: thing(base) }), true);
    assert.equal(exceptStatus({ type: 'deleted', object: thing(base) }), true);
  });
});

test('ownersOfKind names the owners before and after a change, each once', () => {
  const owned = (...names: string[]) =>
    thing({
      ownerReferences: names.map((name) => ({
        apiVersion: 'v1',
        kind: name === 'x' ? 'Other' : 'Agent',
        name,
        uid: name,
      })),
    });
  const event = { type: 'updated', object: owned('a', 'b', 'x'), old: owned('b', 'c') } as const;
  assert.deepEqual(
    ownersOfKind('Agent')(event).map(({ namespace, name }) => `${namespace}/${name}`),
    ['default/a', 'default/b', 'default/c'],
  );
});
