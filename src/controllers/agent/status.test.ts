import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentStatus } from '#api/agent.ts';
import type { Observed } from '#drivers/workload.ts';
import { decide } from './decide.ts';
import type { AgentFacts } from './facts.ts';
import { emptyHistory } from './history.ts';
import { statusOf } from './status.ts';
import { makeAgent, makeFacts, makeInstance, makeObserved, makeReport, noon } from './testing.ts';

function statusFor(facts: Partial<AgentFacts>, observed: Observed | undefined): AgentStatus {
  const all = makeFacts({ ...facts, observed });
  return statusOf(all, decide(all), observed);
}

function summary(status: AgentStatus): Record<string, string> {
  const entries = status.conditions?.map(({ type, status, reason }) => [type, `${status}/${reason}`]) ?? [];
  return Object.fromEntries(entries);
}

const cases: Record<
  string,
  { facts?: Partial<AgentFacts>; observed?: Observed; expected: Record<string, string> }
> = {
  'an agent that answers is Ready and nothing else': {
    facts: { reports: [makeReport()] },
    observed: makeObserved(),
    expected: {
      Accepted: 'True/Accepted',
      Ready: 'True/Ready',
      Progressing: 'False/Ready',
      Degraded: 'False/AsExpected',
      Halted: 'False/NotHalted',
    },
  },
  'a sandbox without a report is Starting': {
    observed: makeObserved(),
    expected: { Ready: 'False/Starting', Progressing: 'True/Starting', Degraded: 'False/AsExpected' },
  },
  'a report of an earlier instance counts for nothing': {
    facts: { reports: [makeReport({ instance: 'i0' })] },
    observed: makeObserved(),
    expected: { Ready: 'False/Starting' },
  },
  'an upstream that does not answer keeps it from being Ready': {
    facts: { reports: [makeReport({ ready: false, reason: 'UpstreamNotReady', message: 'no answer' })] },
    observed: makeObserved(),
    expected: {
      Ready: 'False/UpstreamNotReady',
      Progressing: 'True/UpstreamNotReady',
      Degraded: 'True/UpstreamNotReady',
    },
  },
  'an agent with entries left out is Ready and Degraded': {
    facts: { reports: [makeReport({ reason: 'ConfigProblems', message: 'tools[1] has no command' })] },
    observed: makeObserved(),
    expected: { Ready: 'True/ConfigProblems', Progressing: 'False/Ready', Degraded: 'True/ConfigProblems' },
  },
  'a failed install is Degraded with the reason of the driver': {
    observed: makeObserved({ phase: 'Failed', reason: 'InstallFailed', message: 'npm: E404', instances: [] }),
    expected: { Ready: 'False/InstallFailed', Degraded: 'True/InstallFailed' },
  },
  'limits that nothing enforces make it Degraded but Ready': {
    facts: { reports: [makeReport()] },
    observed: makeObserved({ limitsEnforced: false, limitsMessage: 'no cgroup' }),
    expected: { Ready: 'True/Ready', Degraded: 'True/LimitsNotEnforced' },
  },
  'a refused spec is not Accepted and stands still': {
    facts: { refusals: [{ reason: 'NotImplemented', message: 'spec.budget' }] },
    expected: {
      Accepted: 'False/NotImplemented',
      Ready: 'False/NotImplemented',
      Progressing: 'False/NotImplemented',
    },
  },
  'a halted agent says so at three conditions': {
    facts: { history: { ...emptyHistory, failures: 6 } },
    observed: makeObserved({ phase: 'Failed', instances: [] }),
    expected: {
      Ready: 'False/CrashLoop',
      Progressing: 'False/CrashLoop',
      Degraded: 'True/CrashLoop',
      Halted: 'True/CrashLoop',
    },
  },
  'a suspended agent stands still and is not Degraded': {
    facts: { agent: makeAgent({ runtime: { suspend: true } }) },
    expected: { Ready: 'False/Suspended', Progressing: 'False/Suspended', Degraded: 'False/AsExpected' },
  },
  'a missing driver is Degraded': {
    facts: { runtime: { ok: false, unavailable: { ok: false, reason: 'no bwrap.', remedy: 'install it.' } } },
    expected: {
      Ready: 'False/DriverUnavailable',
      Progressing: 'False/DriverUnavailable',
      Degraded: 'True/DriverUnavailable',
    },
  },
};

for (const [sentence, { facts = {}, observed, expected }] of Object.entries(cases)) {
  test(sentence, () => {
    const actual = summary(statusFor(facts, observed));
    assert.deepEqual({ ...actual, ...expected }, actual);
  });
}

test('the same facts later give the same status', () => {
  const first = statusFor({ reports: [makeReport()] }, makeObserved());
  const agent = { ...makeAgent(), status: first };
  const second = statusFor({ agent, reports: [makeReport()], now: noon + 3_600_000 }, makeObserved());
  assert.deepEqual(second, first);
});

test('an endpoint is ready only for the instance that reported', () => {
  const observed = makeObserved({
    instances: [makeInstance({ uid: 'i1' }), makeInstance({ uid: 'i2', terminating: true })],
  });
  const status = statusFor({ reports: [makeReport({ instance: 'i1' })] }, observed);
  assert.deepEqual(
    status.endpoints?.map(({ uid, ready, terminating }) => [uid, ready, terminating]),
    [
      ['i1', true, false],
      ['i2', false, true],
    ],
  );
});

test('what is known of the tools stays known while the agent is away', () => {
  const status = { toolCount: 4, toolsDigest: 'd4', agentServerVersion: '0.1.0' };
  const away = statusFor({ agent: { ...makeAgent(), status } }, undefined);
  assert.equal(away.toolCount, 4);
  assert.equal(away.toolsDigest, 'd4');
});

test('what is known of the tools is told with the endpoint of the instance, not before', () => {
  const before = makeObserved({ instances: [makeInstance({ ready: false })] });
  const early = statusFor({ reports: [makeReport()] }, before);
  assert.deepEqual([early.endpoints, early.toolCount, early.toolsDigest], [[], undefined, undefined]);
  const after = makeObserved({ instances: [makeInstance({ ready: true })] });
  const { endpoints, toolCount } = statusFor({ reports: [makeReport()] }, after);
  assert.deepEqual([endpoints?.length, toolCount], [1, 2]);
});
