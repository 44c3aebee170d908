import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '#kit/random.ts';
import { createTaskIds } from './task-ids.ts';

test('ids are 16 hex digits, follow each other at the front, and are never the same', () => {
  const newId = createTaskIds(systemRandom);
  const ids = Array.from({ length: 70_000 }, newId);
  assert.ok(ids.every((id) => /^[0-9a-f]{16}$/.test(id)));
  assert.equal(new Set(ids).size, ids.length);
  const fronts = ids.map((id) => Number.parseInt(id.slice(0, 4), 16));
  assert.ok(fronts.every((front, index) => index === 0 || front === ((fronts[index - 1] ?? 0) + 1) % 65_536));
  assert.equal(new Set(ids.map((id) => id.slice(4))).size, ids.length, 'what follows is random');
});
