import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SharedMap } from './shared-map.ts';

const changes = fc.array(
  fc.array(
    fc.tuple(
      fc.oneof(fc.constantFrom('', 'a', 'b', 'é/ü'), fc.string()),
      fc.option(fc.nat(3), { nil: undefined }),
    ),
  ),
);

test('it holds what a map would, and earlier ones keep what they held', () => {
  fc.assert(
    fc.property(changes, (rounds) => {
      const plain = new Map<string, number>();
      let map: SharedMap<number> = SharedMap.empty();
      for (const round of rounds) {
        const before = map;
        const heldBefore = new Map(before);
        map = map.with(round);
        for (const [key, value] of round) {
          if (value === undefined) plain.delete(key);
          else plain.set(key, value);
        }
        assert.deepEqual(new Map(map), plain);
        assert.deepEqual(new Map(before), heldBefore);
        assert.equal(map.size, plain.size);
        assert.deepEqual([...map.keys()].sort(), [...plain.keys()].sort());
        assert.deepEqual([...map.values()].sort(), [...plain.values()].sort());
        for (const [key] of round) {
          assert.equal(map.get(key), plain.get(key));
          assert.equal(map.has(key), plain.has(key));
        }
      }
      assert.deepEqual(map, SharedMap.empty<number>().with(plain));
    }),
  );
});

test('two that hold something else are not deeply equal', () => {
  const one = SharedMap.empty<{ deep: number }>().with([['a', { deep: 1 }]]);
  assert.notDeepEqual(one, SharedMap.empty<{ deep: number }>().with([['a', { deep: 2 }]]));
  assert.notDeepEqual(one, SharedMap.empty<{ deep: number }>().with([['b', { deep: 1 }]]));
});
