import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BenchScope } from '#test/bench/harness/scope.ts';
import { runScale } from '#test/bench/scale/run.ts';
import { writesByKind } from '#test/bench/scale.ts';

// The real API process and the real controllers over a driver whose workloads are in memory. Ready is the whole way:
// each Agent has an agent-server of its own that proves its key and reports over a change stream.
const agents = 1_000;

test('a thousand Agents become Ready in few writes, and then nothing is written any more', {
  timeout: 180_000,
}, async (t) => {
  const scope = new BenchScope();
  t.after(() => scope.end());
  const outcome = await runScale(scope, { agents, idleMs: 10_000, timeoutMs: 120_000 });
  const { Agent: writes = 0, Event: events = 0 } = writesByKind(outcome.writes);
  t.diagnostic(
    `created in ${outcome.createdSeconds.toFixed(1)} s, Ready after ${outcome.readySeconds.toFixed(1)} s`,
  );
  t.diagnostic(
    `an Agent: ${writes / agents} writes, ${events / agents} Events, ${outcome.reconciles / agents} reconciles`,
  );
  t.diagnostic(
    `resident: API ${outcome.apiserverMiB.toFixed(0)} MiB, controllers ${outcome.controllerMiB.toFixed(0)} MiB (${outcome.bareMiB.toFixed(0)} MiB before the first Agent, ${outcome.controllerHeapMiB.toFixed(0)} MiB of heap in use)`,
  );
  assert.ok(writes >= agents, `the controller wrote: ${JSON.stringify(outcome.writes)}`);
  assert.ok(writes <= 4 * agents, `at most four writes an Agent: ${JSON.stringify(outcome.writes)}`);
  assert.ok(events <= 4 * agents, `at most four Events an Agent: ${JSON.stringify(outcome.writes)}`);
  assert.ok(
    outcome.reconciles >= agents && outcome.reconciles <= 8 * agents,
    `${outcome.reconciles} reconciles`,
  );
  assert.equal(outcome.idleWrites, 0, 'nobody writes while nothing happens');
  assert.deepEqual(outcome.failedRequests, {}, 'no request of the controller was refused');
});
