import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { KubeObject } from '#api/meta.ts';
import { type CacheEvent, createCache } from './cache.ts';
import { ownerIndex } from './indexes.ts';

function thing(name: string, version: string, extra: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {
    apiVersion: 'test.dev/v1',
    kind: 'Thing',
    metadata: { namespace: 'default', name, resourceVersion: version, ...extra },
  };
}

function record() {
  const cache = createCache<KubeObject>({ indexes: { owner: ownerIndex }, freeze: true });
  const seen: string[] = [];
  cache.subscribe((event) => seen.push(describeEvent(event)));
  return { cache, seen };
}

function describeEvent(event: CacheEvent<KubeObject>): string {
  const before = event.old === undefined ? '' : ` from ${event.old.metadata.resourceVersion}`;
  return `${event.type} ${event.object.metadata.name}@${event.object.metadata.resourceVersion}${before}`;
}

function list(
  cache: ReturnType<typeof record>['cache'],
  version: string,
  objects: KubeObject[],
  lastSeen?: string,
) {
  const replacement = cache.replace(lastSeen);
  replacement.page(objects, version);
  replacement.finish();
}

describe('the cache', () => {
  test('announces only what a list changed', () => {
    const { cache, seen } = record();
    list(cache, '5', [thing('a', '1'), thing('b', '2')]);
    seen.length = 0;
    list(cache, '9', [thing('a', '1'), thing('c', '7')]);
    assert.deepEqual(seen, ['added c@7', 'deleted b@2']);
    list(cache, '9', [thing('a', '1'), thing('c', '7')]);
    assert.equal(seen.length, 2);
  });

  test('keeps everything when a list fails between its pages', () => {
    const { cache } = record();
    list(cache, '5', [thing('a', '1'), thing('b', '2')]);
    cache.replace().page([thing('a', '6')], '7');
    assert.deepEqual(
      cache.list().map(({ metadata }) => metadata.resourceVersion),
      ['6', '2'],
    );
  });

  test('ignores what is older than it knows, and deletions of what is newer', () => {
    const { cache, seen } = record();
    cache.upsert(thing('a', '10'));
    for (const version of ['9', '10', '2']) cache.upsert(thing('a', version));
    cache.remove(thing('a', '9'));
    assert.deepEqual(seen, ['added a@10']);
    cache.upsert(thing('a', '100'));
    assert.deepEqual(seen.slice(1), ['updated a@100 from 10']);
  });

  test('does not bring back what was deleted, nor what a list did not hold', () => {
    const { cache, seen } = record();
    cache.upsert(thing('a', '10'));
    cache.remove(thing('a', '12'));
    cache.upsert(thing('a', '11'));
    assert.deepEqual(seen, ['added a@10', 'deleted a@10']);
    cache.upsert(thing('a', '13'));
    assert.equal(cache.size, 1);
    list(cache, '20', []);
    cache.upsert(thing('a', '19'));
    assert.equal(cache.size, 0);
  });

  test('keeps what is newer than a list, unless the server was set back', () => {
    const { cache } = record();
    cache.upsert(thing('a', '30'));
    list(cache, '20', [thing('a', '10')], '19');
    assert.equal(cache.list()[0]?.metadata.resourceVersion, '30');
    list(cache, '18', [thing('a', '10')], '25');
    assert.equal(cache.list()[0]?.metadata.resourceVersion, '10');
  });

  test('takes versions that are not numbers in the order they come', () => {
    const { cache, seen } = record();
    for (const version of ['x', 'x', 'a']) cache.upsert(thing('a', version));
    assert.deepEqual(seen, ['added a@x', 'updated a@a from x']);
  });

  test('files objects under namespace and owner, and takes them out again', () => {
    const { cache } = record();
    const owned = (uid: string) => ({
      ownerReferences: [{ apiVersion: 'v1', kind: 'Agent', name: 'o', uid }],
    });
    cache.upsert(thing('a', '1', owned('u1')));
    cache.upsert(thing('b', '2', { ...owned('u1'), namespace: 'other' }));
    assert.deepEqual(
      cache.byIndex('owner', 'u1').map(({ metadata }) => metadata.name),
      ['a', 'b'],
    );
    assert.deepEqual(
      cache.list('other').map(({ metadata }) => metadata.name),
      ['b'],
    );
    cache.upsert(thing('a', '3', owned('u2')));
    cache.remove(thing('b', '4', { namespace: 'other' }));
    assert.deepEqual(cache.byIndex('owner', 'u1'), []);
    assert.deepEqual(cache.byIndex('owner', 'u2').length, 1);
    assert.deepEqual(cache.list('other'), []);
    assert.throws(() => cache.byIndex('color', 'red'), { code: 'NoSuchIndex' });
  });

  test('drops managedFields, freezes when asked and replays to late subscribers', () => {
    const { cache } = record();
    const given = thing('a', '1');
    Object.assign(given.metadata, { managedFields: [{}] });
    cache.upsert(given);
    const kept = cache.get({ namespace: 'default', name: 'a' });
    assert.equal('managedFields' in (kept?.metadata ?? {}), false);
    assert.throws(() => Object.assign(kept?.metadata ?? {}, { name: 'x' }), TypeError);
    const late: string[] = [];
    cache.subscribe((event) => late.push(describeEvent(event)))();
    cache.upsert(thing('b', '2'));
    assert.deepEqual(late, ['added a@1']);
  });
});

describe('for any order and repetition of events, the cache', () => {
  const history = fc.array(fc.record({ name: fc.constantFrom('a', 'b', 'c'), gone: fc.boolean() }), {
    maxLength: 12,
  });
  test('ends with what the newest event of each object says', () => {
    const order = fc.infiniteStream(fc.nat());
    fc.assert(
      fc.property(history, order, fc.nat(10), (steps, picks, repeats) => {
        const events = steps.map(({ name, gone }, i) => ({ gone, object: thing(name, String(i + 8)) }));
        const delivered = [...events];
        for (let i = 0; i < repeats && events.length > 0; i++) {
          const again = events[(picks.next().value ?? 0) % events.length];
          if (again !== undefined) delivered.push(again);
        }
        delivered.sort(() => ((picks.next().value ?? 0) % 2 === 0 ? 1 : -1));
        const { cache } = record();
        for (const { gone, object } of delivered) {
          if (gone) cache.remove(structuredClone(object));
          else cache.upsert(structuredClone(object));
        }
        const newest = new Map(events.map((event) => [event.object.metadata.name, event]));
        const expected = [...newest.values()]
          .filter(({ gone }) => !gone)
          .map(({ object }) => object.metadata.resourceVersion);
        assert.deepEqual(
          cache
            .list()
            .map(({ metadata }) => metadata.resourceVersion)
            .sort(),
          expected.sort(),
        );
      }),
      { numRuns: 500 },
    );
  });
});
