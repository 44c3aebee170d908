import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runKills } from './kills/kill-run.ts';
import { failpoints } from './programs/failpoints.ts';

// The small form of `node scripts/durability.ts kills`.

const seed = Number(process.env['DURABILITY_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

test('a queue that is killed at any point loses no task, runs none twice that has ended, and keeps their order', {
  timeout: 120_000,
}, async (t) => {
  t.diagnostic(`DURABILITY_SEED=${seed} repeats it`);
  const outcome = await runKills({ kills: 20, tasks: 600, seed, program: 'queue-program' });
  assert.deepEqual(outcome.problems, [], `DURABILITY_SEED=${seed} repeats it`);
  assert.ok(outcome.acked >= 600 && outcome.kills >= 20);
  const met = failpoints.filter((name) => outcome.where[name] !== undefined).length;
  assert.ok(met >= 8, `only ${met} failpoints were met: ${JSON.stringify(outcome.where)}`);
  t.diagnostic(`${outcome.acked} tasks, ${outcome.rerun} ran again, ${outcome.interrupted} were given up`);
  if (outcome.left !== undefined) t.diagnostic(`without kills inside of writes: ${outcome.left}`);
});

test('a whole agent-server that is killed loses none either', { timeout: 120_000 }, async (t) => {
  t.diagnostic(`DURABILITY_SEED=${seed} repeats it`);
  const outcome = await runKills({ kills: 16, tasks: 300, seed, program: 'server-program' });
  assert.deepEqual(outcome.problems, [], `DURABILITY_SEED=${seed} repeats it`);
  assert.ok(outcome.acked >= 300 && outcome.kills >= 16);
  t.diagnostic(`${outcome.acked} tasks, ${outcome.rerun} ran again: ${JSON.stringify(outcome.where)}`);
});
