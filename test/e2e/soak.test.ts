import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BenchScope } from '#test/bench/harness/scope.ts';
import { runSoak } from '#test/bench/soak/run.ts';

// The small one of `make soak`: so few that it takes seconds, so many that what stays of each session would show.
const order = {
  sessions: 1_000,
  calls: 20_000,
  live: 500,
  connections: 8,
  idleMs: 2_000,
  untilIdle: false,
} as const;
/** Fewer than half of the sessions of one wave; the connections of all that runs at once are far below it. */
const mostDescriptors = 200;
const mostTimers = 45;
/** Of each session that has ended. A live one takes some ten. */
const keptKiB = { router: 4, agentServer: 2 };

test('of a thousand sessions with twenty calls each nothing is left', { timeout: 300_000 }, async (t) => {
  const scope = new BenchScope();
  t.after(() => scope.end());
  const outcome = await runSoak(scope, order);
  t.diagnostic(`${outcome.calls} calls in ${outcome.callSeconds.toFixed(1)} s`);
  assert.deepEqual(outcome.failures, []);
  assert.deepEqual([outcome.failed, outcome.sessions, outcome.calls], [0, order.sessions, order.calls]);
  assert.equal(outcome.left.sessions, 1, 'the agent-server keeps one upstream session for everybody');
  assert.equal(outcome.left.streams, 1);
  const { sessionHeap, withStreamHeap } = outcome.kibEach;
  t.diagnostic(
    `a session takes ${sessionHeap.toFixed(1)} KiB of heap, ${withStreamHeap.toFixed(1)} with its stream`,
  );
  const [first, second] = outcome.after;
  for (const name of ['router', 'agentServer'] as const) {
    const { descriptors } = outcome.bare[name];
    assert.ok(
      second[name].descriptors <= descriptors + mostDescriptors,
      `${name}: ${second[name].descriptors} descriptors`,
    );
    const timers = (second[name].resources['Timeout'] ?? 0) - (outcome.bare[name].resources['Timeout'] ?? 0);
    assert.ok(timers < mostTimers, `${name}: ${timers} timers more than before`);
    const grown = ((second[name].heapMiB - first[name].heapMiB) * 1024) / (order.sessions / 2);
    t.diagnostic(`${name}: ${grown.toFixed(2)} KiB of heap stay of a session`);
    assert.ok(grown < keptKiB[name], `${name}: ${grown} KiB of heap stay of each session`);
  }
});
