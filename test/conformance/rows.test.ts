import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkout } from '#test/fixtures/workspace/workspace.ts';
import { type Baseline, readBaseline, readRows, type Way, ways } from './baseline.ts';
import { requirementSets } from './suite.ts';

/** Checks that are expected to fail in these ways and do not fail by themselves, as `scenario:check`. */
function lost(baseline: Baseline, of: readonly Way[]): string[] {
  return of.flatMap((way) =>
    requirementSets.flatMap((set) =>
      baseline[way][set].filter((check) => !baseline.direct[set].includes(check)),
    ),
  );
}

test('whatever fails behind the routers and not by itself is explained by a row of the bridge’s table, and nothing else is', async () => {
  const rows = await readRows();
  const table = await readFile(join(checkout, 'docs/bridging.md'), 'utf8');
  const failing = new Set(lost(await readBaseline(), ways).map((check) => check.split(':')[0] ?? ''));
  assert.deepEqual([...failing].sort(), Object.keys(rows).sort());
  for (const row of Object.values(rows)) assert.match(table, new RegExp(`^\\| ${row} +\\|`, 'm'));
});

test('an agent with an HTTP server of both eras loses nothing behind the routers', async () => {
  assert.deepEqual(lost(await readBaseline(), ['router']), []);
});
