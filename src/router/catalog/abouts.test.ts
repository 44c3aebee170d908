import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildRoutingTable } from '#routing/table.ts';
import { agentNamed } from '#routing/testing.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createAbouts } from './abouts.ts';
import type { Catalog } from './catalog.ts';

test('what failed to be made once is made again the next time', async () => {
  const table = buildRoutingTable({
    ...{ agents: [agentNamed('a')], routes: [], homeNamespace: 'default', hostClaims: {} },
  });
  let asked = 0;
  const catalog = {
    version: 1,
    last: () => [],
    freshUntil: () => Number.POSITIVE_INFINITY,
    retain: () => false,
    async part() {
      asked += 1;
      // What structuredClone refuses.
      const extensions = asked === 1 ? { broken: () => undefined } : {};
      return { agent: 'a', items: [{ instructions: 'hello', capabilities: { extensions } }] };
    },
  } satisfies Catalog;
  const tables = { current: () => table, synced: true, subscribe: () => () => undefined };
  const limits = { aboutWaitMs: 1_000, instructionsChars: 100 };
  const abouts = createAbouts({ tables, catalog, clock: createFakeClock(), limits });
  const surface = table.surfaces.find((one) => one.kind === 'mcp');
  assert.ok(surface?.kind === 'mcp');
  await assert.rejects(abouts.of(surface), { name: 'DataCloneError' });
  assert.equal((await abouts.of(surface)).instructions.get('a'), 'hello');
});
