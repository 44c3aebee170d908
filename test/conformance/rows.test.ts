import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkout } from '#test/fixtures/workspace/workspace.ts';
import { readBaseline, readRows } from './baseline.ts';

test('whatever fails over the bridge is explained by a row of its table, and nothing else is', async () => {
  const baseline = await readBaseline();
  const rows = await readRows();
  const table = await readFile(join(checkout, 'docs/bridging.md'), 'utf8');
  const bridged = (['stdio', 'bridge-2025', 'bridge-2026'] as const).flatMap((way) =>
    Object.values(baseline[way]).flat(),
  );
  const failing = new Set(bridged.map((check) => check.split(':')[0] ?? ''));
  assert.deepEqual([...failing].sort(), Object.keys(rows).sort());
  for (const row of Object.values(rows)) assert.match(table, new RegExp(`^\\| ${row} \\|`, 'm'));
});
