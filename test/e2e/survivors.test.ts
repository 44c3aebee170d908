import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BenchScope, checkout } from '#test/bench/harness/scope.ts';
import { runSurvivors } from '#test/fixtures/survivors/run.ts';

// The small one: SURVIVORS_CALLS=10000 makes as many calls as are promised (about ten minutes).
const calls = Number(process.env['SURVIVORS_CALLS'] ?? 300);
const order = { calls, parallel: 10, timeoutMs: 300, killGraceMs: 200 };
const missing = existsSync(join(checkout, 'dist/reaper'))
  ? false
  : 'dist/reaper is not built; `npm run build` makes it where there is a C compiler';

test('calls that fork, hide, detach and do not listen leave no process and no zombie', {
  timeout: 60_000 + calls * 120,
  skip: missing,
}, async (t) => {
  const scope = new BenchScope();
  t.after(() => scope.end());
  const outcome = await runSurvivors(scope, order);
  t.diagnostic(JSON.stringify(outcome));
  assert.deepEqual(outcome.wrong, []);
  assert.deepEqual([outcome.calls, outcome.survivors, outcome.zombies], [calls, 0, 0]);
  assert.ok(outcome.seen > 0, 'none was ever seen, so that none being left would say nothing');
  assert.ok(outcome.ends.p95 < 2000, `an end took ${outcome.ends.p95} ms`);
});
