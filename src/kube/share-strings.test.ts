import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { createStringSharer } from './share-strings.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes that thousands of equal objects take. */
function heldBy(keep: (object: unknown) => unknown): number {
  const text = JSON.stringify({
    images: Array.from({ length: 20 }, (_, index) => `registry/agent:${'x'.repeat(60)}${index}`),
  });
  collect();
  const before = getHeapStatistics().used_heap_size;
  const objects = Array.from({ length: 2_000 }, () => keep(JSON.parse(text)));
  collect();
  const after = getHeapStatistics().used_heap_size;
  assert.equal(objects.length, 2_000);
  return after - before;
}

describe('sharing strings', () => {
  it('changes nothing that can be seen, however few it remembers', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.integer({ min: 1, max: 8 }), (values, entries) => {
        const share = createStringSharer(entries);
        const copies = structuredClone(values);
        assert.deepEqual(
          values.map((value) => share(value)),
          copies,
        );
      }),
    );
  });

  it('makes equal strings take the memory of one', () => {
    const share = createStringSharer();
    assert.ok(heldBy(share) < 0.3 * heldBy((object) => object));
  });
});
