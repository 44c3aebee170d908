import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Agent } from '#api/agent.ts';
import type { Task } from '#api/task.ts';
import { createCache } from '#kube/cache.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createAttempts } from './attempts.ts';
import { gather, refusalsOf } from './gather.ts';
import { taskIndexes } from './indexes.ts';
import type { TaskPlace } from './listener.ts';
import { makeAgent, makeLine, makeTask } from './testing.ts';

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
  const clock = createFakeClock();
  const attempts = createAttempts(clock);
  const tasks = createCache<Task>({ indexes: taskIndexes });
  const agents = createCache<Agent>();
  tasks.upsert(structuredClone(task));
  if (agent !== undefined) agents.upsert(structuredClone(agent));
  const options = { tasks, agents, attempts, identity: 'here', clock };
  return { attempts, look: () => gather(task, options).attempt };
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

  it('is lost with its Agent, and with an instance that never said that it took it', () => {
    assert.equal(onStage(undefined).look()?.isLost, true);
    const untaken = { ...held, status: { ...held.status, taskId: undefined } } as Task;
    assert.equal(onStage(agentWith({ next: true }), untaken).look()?.isLost, true);
  });

  it('has ended, wherever that was told', () => {
    const { attempts, look } = onStage(agentWith({ next: true }));
    attempts.told(placeOf('old'), makeLine({ status: 'completed' }));
    assert.equal(look()?.line?.status, 'completed');
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
    const { attempts } = onStage(agentWith({ old: true }));
    attempts.told(placeOf('old'), makeLine());
    attempts.told(placeOf('old'), makeLine({ key: 'uid-build/2', status: 'completed' }));
    attempts.opened(placeOf('old'));
    assert.deepEqual(
      ['uid-build/1', 'uid-build/2'].map((key) => attempts.line(key)?.line.status),
      [undefined, 'completed'],
    );
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
