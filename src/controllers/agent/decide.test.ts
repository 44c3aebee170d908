import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decide } from './decide.ts';
import type { AgentFacts } from './facts.ts';
import { emptyHistory, recordEnds } from './history.ts';
import { makeAgent, makeFacts, makeObserved, noon } from './testing.ts';

const onCluster: Partial<AgentFacts> = { runtime: { ok: true, class: 'Pod', driver: 'kubernetes' } };
const haltedHistory = { ...emptyHistory, failures: 6 };

const cases: Record<
  string,
  { facts: Partial<AgentFacts>; action: string; reason: string; mentions?: string }
> = {
  'an Agent of which nothing is wrong runs': { facts: {}, action: 'run', reason: 'Starting' },
  'a field that nothing implements refuses the spec and is named': {
    facts: { refusals: [{ reason: 'NotImplemented', message: 'spec.heartbeat is not implemented.' }] },
    action: 'refuse',
    reason: 'NotImplemented',
    mentions: 'spec.heartbeat',
  },
  'a machine without a driver says what to install': {
    facts: {
      runtime: {
        ok: false,
        unavailable: { ok: false, reason: 'bwrap is absent.', remedy: 'apt-get install bubblewrap' },
      },
    },
    action: 'hold',
    reason: 'DriverUnavailable',
    mentions: 'apt-get install bubblewrap',
  },
  'more than one replica is refused on a host': {
    facts: { agent: makeAgent({ runtime: { replicas: 3 } }) },
    action: 'hold',
    reason: 'ReplicasNotSupported',
    mentions: 'spec.runtime.replicas is 3',
  },
  'a suspended Agent stops': {
    facts: { agent: makeAgent({ runtime: { suspend: true } }) },
    action: 'stop',
    reason: 'Suspended',
    mentions: 'spec.runtime.suspend',
  },
  'on a host its workspace is kept': {
    facts: { agent: makeAgent({ runtime: { suspend: true } }) },
    action: 'stop',
    reason: 'Suspended',
    mentions: 'spec.runtime.suspend is true; the workspace is kept.',
  },
  'on a cluster it is kept with a volume': {
    facts: { ...onCluster, agent: makeAgent({ runtime: { replicas: 0 }, storage: { size: '1Gi' } }) },
    action: 'stop',
    reason: 'Suspended',
    mentions: 'spec.runtime.replicas is 0; the workspace is kept.',
  },
  'on a cluster without a volume nothing is promised': {
    facts: { ...onCluster, agent: makeAgent({ runtime: { replicas: 0 } }) },
    action: 'stop',
    reason: 'Suspended',
    mentions: 'spec.runtime.replicas is 0; the workspace is not kept: spec.storage.size is not set.',
  },
  'no replicas stops it too': {
    facts: { agent: makeAgent({ runtime: { replicas: 0 } }) },
    action: 'stop',
    reason: 'Suspended',
  },
  'a suspended Agent stops, whatever else is wrong with its runtime': {
    facts: {
      agent: makeAgent({ runtime: { suspend: true, replicas: 3 } }),
      runtime: { ok: false, unavailable: { ok: false, reason: 'bwrap is absent.', remedy: '' } },
    },
    action: 'stop',
    reason: 'Suspended',
  },
  'a halted Agent that is suspended is Suspended': {
    facts: { agent: makeAgent({ runtime: { suspend: true } }), history: haltedHistory },
    action: 'stop',
    reason: 'Suspended',
  },
  'a reference that leads nowhere holds the start': {
    facts: {
      environment: {
        values: {},
        missing: ['spec.env[0] (KEY): Secret "s" does not exist.'],
        secrets: [],
        revision: '',
      },
    },
    action: 'hold',
    reason: 'SecretMissing',
    mentions: 'spec.env[0]',
  },
  'without a master key everything waits, and nobody is asked to do anything': {
    facts: { masterKeys: [] },
    action: 'leave',
    reason: 'Starting',
  },
  'a cycle of dependencies is shown whole': {
    facts: { dependencies: { missing: [], waiting: ['b'], cycle: ['a', 'b', 'a'] } },
    action: 'hold',
    reason: 'DependencyCycle',
    mentions: 'a → b → a',
  },
  'a dependency that is not Ready holds the start': {
    facts: { dependencies: { missing: [], waiting: ['db'], cycle: [] } },
    action: 'hold',
    reason: 'WaitingForDependency',
    mentions: 'db',
  },
  'an agent that runs is not held for its dependencies': {
    facts: { dependencies: { missing: [], waiting: ['db'], cycle: [] }, observed: makeObserved() },
    action: 'run',
    reason: 'Starting',
  },
  'six ends in a row halt it, with the way to resume': {
    facts: { history: haltedHistory },
    action: 'hold',
    reason: 'CrashLoop',
    mentions: 'ploinky restart demo',
  },
};

for (const [sentence, { facts, action, reason, mentions }] of Object.entries(cases)) {
  test(sentence, () => {
    const verdict = decide(makeFacts(facts));
    assert.deepEqual([verdict.action, verdict.reason], [action, reason]);
    if (mentions !== undefined)
      assert.match(verdict.message, new RegExp(mentions.replace(/[.[\]()]/g, '\\$&')));
  });
}

test('after an end the start waits and the verdict says how long', () => {
  const verdict = decide(
    makeFacts({ history: recordEnds(emptyHistory, { instance: 'i1', count: 1, at: noon - 400 }) }),
  );
  assert.deepEqual([verdict.reason, verdict.wait], ['BackOff', 600]);
});
