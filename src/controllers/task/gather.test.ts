import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Agent } from '#api/agent.ts';
import { findCondition } from '#api/conditions.ts';
import type { Task } from '#api/task.ts';
import { createCache } from '#kube/cache.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createAttempts } from './attempts.ts';
import { gather, refusalsOf } from './gather.ts';
import { taskIndexes } from './indexes.ts';
import type { TaskPlace } from './listener.ts';
import { nextStep } from './next-step.ts';
import { makeAgent, makeAttempt, makeFacts, makeLine, makeTask, noon } from './testing.ts';

const placeOf = (instance: string): TaskPlace => ({
  agent: { namespace: 'default', name: 'demo', uid: 'u' },
  instance,
  address: `unix:/${instance}`,
  keys: [],
});
const held: Task = {
  ...makeTask(),
  status: { phase: 'Running', attempts: 1, agent: 'demo', instance: 'old', taskId: 't1' },
};

function agentWith(endpoints: Record<string, boolean>, runtime: object = {}): Agent {
  const agent = makeAgent('demo', { runtime });
  return {
    ...agent,
    status: {
      ...agent.status,
      endpoints: Object.entries(endpoints).map(([uid, ready]) => ({
        name: uid,
        uid,
        address: `unix:/${uid}`,
        ready,
        terminating: false,
      })),
    },
  };
}

function onStage(agent: Agent | undefined, task = held) {
  const clock = createFakeClock(noon);
  const tasks = createCache<Task>({ indexes: taskIndexes });
  const attempts = createAttempts(clock, tasks);
  const agents = createCache<Agent>();
  tasks.upsert(structuredClone(task));
  if (agent !== undefined) agents.upsert(structuredClone(agent));
  const options = { tasks, agents, attempts, identity: 'here', clock };
  return { attempts, tasks, all: () => gather(task, options), look: () => gather(task, options).attempt };
}

describe('An attempt that an instance has', () => {
  it('is asked for there', () => {
    const { attempts, look } = onStage(agentWith({ old: true }));
    attempts.opened(placeOf('old'));
    assert.deepEqual(look()?.ask, { type: 'ask', instance: 'old', known: true });
  });

  it('is not what an instance said that is gone; who came after it is asked', () => {
    const { attempts, look } = onStage(agentWith({ next: true }));
    attempts.told(placeOf('old'), makeLine());
    attempts.opened(placeOf('next'));
    const { line, ask, isLost } = look() ?? {};
    assert.deepEqual([line, ask, isLost], [undefined, { type: 'ask', instance: 'next', known: true }, false]);
  });

  it('is lost when everybody who came after it knows nothing of it', () => {
    const { attempts, look } = onStage(agentWith({ a: true, b: true }, { replicas: 2 }));
    for (const instance of ['a', 'b']) {
      assert.equal(look()?.isLost, false);
      attempts.opened(placeOf(instance));
      attempts.unknownAt('uid-build/1', instance);
    }
    assert.equal(look()?.isLost, true);
  });

  it('is not lost while one that may know of it is not Ready', () => {
    const { attempts, look } = onStage(agentWith({ a: true, b: false }, { replicas: 2 }));
    attempts.unknownAt('uid-build/1', 'a');
    assert.deepEqual([look()?.isLost, look()?.ask], [false, undefined]);
  });

  it('is lost with its Agent, but not before its instance has ended', () => {
    const { attempts, look } = onStage(undefined);
    const place = placeOf('old');
    attempts.opened(place);
    assert.deepEqual([look()?.isLost, look()?.ask], [false, { type: 'ask', instance: 'old', known: true }]);
    attempts.told(place, makeLine());
    assert.equal(look()?.line?.status, 'running');
    attempts.closed(place);
    assert.deepEqual([look()?.isLost, look()?.line], [true, undefined]);
  });

  it('may have been taken by one that is gone and never said so: who came after it is asked', () => {
    const untaken = { ...held, status: { ...held.status, taskId: undefined } } as Task;
    const { attempts, look } = onStage(agentWith({ next: true }), untaken);
    attempts.opened(placeOf('next'));
    assert.deepEqual([look()?.isLost, look()?.ask], [false, { type: 'ask', instance: 'next', known: true }]);
    attempts.unknownAt('uid-build/1', 'next');
    assert.equal(look()?.isLost, true);
  });

  it('is lost when the instance that has it knows nothing of it any more', () => {
    const { attempts, look } = onStage(agentWith({ old: true }));
    attempts.opened(placeOf('old'));
    attempts.told(placeOf('old'), makeLine());
    attempts.unknownAt('uid-build/1', 'old');
    assert.deepEqual([look()?.line, look()?.isLost], [undefined, true]);
  });

  it('is not given to an instance that ends with its Agent', () => {
    const untaken = { ...held, status: { ...held.status, taskId: undefined } } as Task;
    const { attempts, look } = onStage(agentWith({ next: true }), untaken);
    attempts.opened(placeOf('old'));
    assert.deepEqual(look()?.ask, { type: 'ask', instance: 'old', known: true });
  });

  it('says why it is not known, once that has lasted', () => {
    const suspended = onStage(agentWith({}, { suspend: true })).look();
    assert.match(
      suspended?.trouble?.message ?? '',
      /no instance of Agent "demo" that could have it is Ready/,
    );
    const stalled = nextStep(makeFacts(held, { attempt: makeAttempt({ ...suspended, ask: undefined }) }));
    assert.equal(findCondition(stalled.status?.conditions, 'Stalled')?.reason, 'AgentNotReady');
    const half = onStage(agentWith({ a: true, b: false }, { replicas: 2 }));
    half.attempts.unknownAt('uid-build/1', 'a');
    assert.match(half.look()?.trouble?.message ?? '', /only 1 of 2 instances of Agent "demo"/);
    const starting = agentWith({});
    const condition = findCondition(starting.status?.conditions, 'Ready');
    assert.ok(condition);
    const conditions = [{ ...condition, lastTransitionTime: '2026-01-01T11:59:50Z' }];
    const soon = onStage({ ...starting, status: { ...starting.status, conditions } }).look();
    assert.deepEqual([soon?.isLost, soon?.trouble], [false, undefined]);
  });

  it('has ended, wherever that was told', () => {
    const { attempts, look } = onStage(agentWith({ next: true }));
    attempts.told(placeOf('old'), makeLine({ status: 'completed' }));
    assert.equal(look()?.line?.status, 'completed');
  });
});

describe('A Task that has ended', () => {
  it('is needed while Tasks depend on it that have not', () => {
    const stage = onStage(undefined, { ...makeTask(), status: { phase: 'Succeeded' } });
    assert.equal(stage.all().needed, false);
    const dependent = makeTask({ dependsOn: [{ name: 'build' }] }, { name: 'next', uid: 'uid-next' });
    stage.tasks.upsert(structuredClone(dependent));
    assert.equal(stage.all().needed, true);
    const metadata = { ...dependent.metadata, resourceVersion: '8' };
    stage.tasks.upsert({ ...dependent, metadata, status: { phase: 'Failed' } });
    assert.equal(stage.all().needed, false);
  });
});

describe('What agent-servers said', () => {
  it('is not taken back by what was sent before it', () => {
    const { attempts } = onStage(agentWith({ old: true }));
    attempts.told(placeOf('old'), makeLine({ status: 'running' }));
    attempts.told(placeOf('old'), makeLine({ status: 'pending' }));
    assert.equal(attempts.line('uid-build/1')?.line.status, 'running');
    attempts.told(placeOf('old'), makeLine({ status: 'failed' }));
    attempts.told(placeOf('old'), makeLine({ status: 'running' }));
    assert.equal(attempts.line('uid-build/1')?.line.status, 'failed');
  });

  it('is asked for again when a stream begins, but for ends', () => {
    for (const [status, kept] of [
      ['running', undefined],
      ['completed', 'completed'],
    ] as const) {
      const { attempts } = onStage(agentWith({ old: true }));
      attempts.told(placeOf('old'), makeLine({ status }));
      attempts.opened(placeOf('old'));
      assert.equal(attempts.line('uid-build/1')?.line.status, kept);
    }
  });

  it('counts for what their Agent was given alone', () => {
    const { attempts, look } = onStage(agentWith({ old: true }));
    const ofOther = (agent: object): TaskPlace => {
      const place = placeOf('other');
      return { ...place, agent: { ...place.agent, ...agent } };
    };
    for (const place of [ofOther({ name: 'other' }), ofOther({ namespace: 'elsewhere' })]) {
      attempts.opened(place);
      attempts.told(place, makeLine({ status: 'completed' }));
      attempts.told(place, makeLine({ status: 'running' }));
      assert.equal(look()?.line, undefined);
      assert.deepEqual(
        [attempts.unended('uid-build'), attempts.holders('uid-build/1')],
        [['uid-build/1'], [place]],
      );
    }
    attempts.told(placeOf('old'), makeLine({ key: 'uid-build/2', status: 'completed' }));
    assert.equal(attempts.line('uid-build/2'), undefined, 'an attempt that was not begun');
    attempts.told(placeOf('old'), makeLine());
    assert.equal(look()?.holder, 'old');
  });

  it('of Tasks that are not known is kept in keys, so many of each, and as long as it is listened to', () => {
    const { attempts } = onStage(agentWith({ old: true }));
    const place = placeOf('old');
    attempts.opened(place);
    const uids = Array.from({ length: 10_001 }, (_, index) => `uid-${index}`);
    let announced = 0;
    attempts.onTold(() => {
      announced += 1;
    });
    for (const uid of [...uids, ...uids]) attempts.told(place, makeLine({ key: `${uid}/1` }));
    attempts.told(place, makeLine({ key: `${'x'.repeat(100)}/1` }));
    assert.equal(announced, 10_000);
    assert.deepEqual([attempts.line('uid-0/1'), attempts.unended('uid-0')], [undefined, ['uid-0/1']]);
    attempts.told(place, makeLine({ key: 'uid-0/1', status: 'cancelled' }));
    attempts.unknownAt('uid-1/1', 'old');
    assert.deepEqual([attempts.unended('uid-0'), attempts.unended('uid-1')], [[], []]);
    attempts.closed(place);
    assert.ok(uids.every((uid) => attempts.unended(uid).length === 0));
  });
});

describe('Refused is', () => {
  const cases: readonly [string, object, object, RegExp][] = [
    ['a Task without a tool', { tool: undefined, input: undefined, title: 'x' }, {}, /spec\.tool is missing/],
    ['a cron expression that never comes', { schedule: { cron: '0 0 30 2 *' } }, {}, /cron never comes/],
    [
      'a time zone that nobody knows',
      { schedule: { cron: '@daily', timeZone: 'Mars/Base' } },
      {},
      /timeZone is no/,
    ],
    [
      'a schedule’s name that has no room for the minute',
      { schedule: { cron: '@daily' } },
      { name: 'x'.repeat(53) },
      /at most 52/,
    ],
    ['a field that nothing carries out', { estimatedTokens: 5 }, {}, /spec\.estimatedTokens/],
  ];
  for (const [name, spec, metadata, expected] of cases) {
    it(name, () => assert.match(refusalsOf(makeTask(spec, metadata))[0]?.message ?? '', expected));
  }
  it('nothing else', () => assert.deepEqual(refusalsOf(makeTask()), []));
});
