import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runPower } from './power/power-run.ts';

// The small form of `node scripts/durability.ts power`.

const seed = Number(process.env['DURABILITY_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

test('a queue whose files were torn or have turned bits gives what was acknowledged, or says what is wrong', {
  timeout: 120_000,
}, async (t) => {
  const outcome = await runPower({ seed, share: 0.025, repairEvery: 10 });
  assert.deepEqual(outcome.problems.slice(0, 20), [], `DURABILITY_SEED=${seed} repeats it`);
  assert.ok(outcome.cases >= 500);
  t.diagnostic(`DURABILITY_SEED=${seed}: ${JSON.stringify(outcome.borne)}`);
});
