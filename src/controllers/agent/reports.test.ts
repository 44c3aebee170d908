import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { AgentServerChange, ChangesOptions } from '#wire/changes.ts';
import { createAgentReports } from './reports.ts';

const agent = { namespace: 'default', name: 'demo', uid: 'u1' };
const keys = [{ kid: 'k0', secret: Buffer.alloc(32, 1) }];
const state = (ready: boolean): AgentServerChange => ({
  type: 'state',
  ready,
  reason: ready ? 'Ready' : 'UpstreamNotReady',
  message: '',
  toolCount: 1,
  toolsDigest: 'd',
  lists: { tools: '', resources: '', prompts: '' },
  idle: false,
});

interface Opened {
  readonly options: ChangesOptions;
  readonly push: (change: AgentServerChange) => void;
  readonly cut: () => void;
}

/** Streams that the test feeds by hand; `refuse` makes the next opens fail. */
function createStreams() {
  const streams = {
    refuse: false,
    opened: [] as Opened[],
    async open(options: ChangesOptions, push: Opened['push']): Promise<void> {
      if (streams.refuse) throw new Error('connection refused');
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      options.signal.addEventListener('abort', () => resolve());
      streams.opened.push({ options, push, cut: () => reject(new Error('the stream ended')) });
      await promise;
    },
  };
  return streams;
}

function createStage() {
  const streams = createStreams();
  const clock = createFakeClock();
  const changes: string[] = [];
  const reports = createAgentReports({
    open: streams.open,
    clock,
    random: systemRandom,
    log: silentLog,
    onChange: ({ uid }) => changes.push(uid),
  });
  const target = { agent, instance: 'i1', address: 'unix:/a', keys };
  return { streams, clock, changes, reports, target };
}

test('what the agent-server says is kept and announced', async () => {
  const { streams, changes, reports, target } = createStage();
  reports.follow('u1', [target]);
  streams.opened[0]?.push({ type: 'hello', version: '0.1.0', instance: 'i1' });
  streams.opened[0]?.push(state(true));
  await setImmediate();
  assert.deepEqual(
    [reports.get('u1')[0]?.ready, reports.get('u1')[0]?.version, reports.get('u1')[0]?.instance, changes],
    [true, '0.1.0', 'i1', ['u1']],
  );
  reports.close();
});

test('following the same instance twice opens one stream', () => {
  const { streams, reports, target } = createStage();
  reports.follow('u1', [target]);
  reports.follow('u1', [{ ...target }]);
  assert.equal(streams.opened.length, 1);
  reports.close();
});

test('a cut stream is opened again and nobody is told while that works', async () => {
  const { streams, clock, changes, reports, target } = createStage();
  reports.follow('u1', [target]);
  streams.opened[0]?.push(state(true));
  await setImmediate();
  streams.opened[0]?.cut();
  await clock.advance(200);
  assert.equal(streams.opened.length, 2);
  assert.deepEqual([reports.get('u1')[0]?.ready, changes.length], [true, 1]);
  reports.close();
});

test('an agent-server that cannot be reached again is reported as Unreachable, once', async () => {
  const { streams, clock, changes, reports, target } = createStage();
  reports.follow('u1', [target]);
  streams.opened[0]?.push(state(true));
  await setImmediate();
  streams.refuse = true;
  streams.opened[0]?.cut();
  await clock.advance(60_000);
  assert.deepEqual([reports.get('u1')[0]?.reason, changes.length], ['Unreachable', 2]);
  reports.close();
});

test('another instance replaces the stream and forgets the old report', async () => {
  const { streams, reports, target } = createStage();
  reports.follow('u1', [target]);
  streams.opened[0]?.push(state(true));
  await setImmediate();
  reports.follow('u1', [{ ...target, instance: 'i2' }]);
  assert.equal(streams.opened[0]?.options.signal.aborted, true);
  assert.deepEqual(reports.get('u1'), []);
  reports.close();
});

test('what was known before holds until the instance cannot be reached', async () => {
  const { streams, clock, reports, target } = createStage();
  const last = {
    instance: 'i1',
    version: '0.1.0',
    ready: true,
    reason: 'Ready',
    message: '',
    toolCount: 2,
    toolsDigest: 'd',
    idle: false,
  };
  streams.refuse = true;
  reports.follow('u1', [target], () => last);
  assert.equal(reports.get('u1')[0]?.ready, true);
  await clock.advance(5_000);
  assert.deepEqual([reports.get('u1')[0]?.ready, reports.get('u1')[0]?.reason], [false, 'Unreachable']);
  reports.close();
});

test('every instance has a stream and a report of its own', async () => {
  const { streams, reports, target } = createStage();
  const second = { ...target, instance: 'i2', address: '10.0.0.2:7000' };
  reports.follow('u1', [target, second]);
  streams.opened[0]?.push(state(true));
  streams.opened[1]?.push(state(false));
  await setImmediate();
  assert.deepEqual(
    reports.get('u1').map(({ instance, ready }) => [instance, ready]),
    [
      ['i1', true],
      ['i2', false],
    ],
  );
  reports.follow('u1', [second]);
  assert.equal(streams.opened[0]?.options.signal.aborted, true);
  assert.equal(streams.opened.length, 2);
  reports.follow('u1', []);
  assert.deepEqual([streams.opened[1]?.options.signal.aborted, reports.get('u1')], [true, []]);
  reports.close();
});

test('an agent-server that took long to start is heard as soon as it is known to answer', async () => {
  const { streams, clock, reports, target } = createStage();
  streams.refuse = true;
  reports.follow('u1', [{ ...target, answers: false }]);
  await clock.advance(90_000);
  streams.refuse = false;
  reports.follow('u1', [{ ...target, answers: true }]);
  assert.equal(streams.opened.length, 1, 'not only after the pause');
  reports.follow('u1', [{ ...target, answers: true }]);
  streams.opened[0]?.push(state(true));
  await setImmediate();
  reports.follow('u1', [{ ...target, answers: false }]);
  reports.follow('u1', [{ ...target, answers: true }]);
  assert.equal(streams.opened.length, 1, 'one that is heard is not opened again');
  await clock.advance(60_000);
  assert.equal(streams.opened.length, 1, 'and the one before has ended');
  reports.close();
});

test('what a stream says of tasks is passed on, and when streams begin and are left', async () => {
  const streams = createStreams();
  const clock = createFakeClock();
  const told: string[] = [];
  const reports = createAgentReports({
    open: streams.open,
    clock,
    random: systemRandom,
    log: silentLog,
    onChange: () => undefined,
    tasks: {
      opened: ({ instance }) => told.push(`opened ${instance}`),
      began: () => undefined,
      told: ({ instance }, { key, status }) => told.push(`${instance}: ${key} ${status}`),
      closed: ({ instance }) => told.push(`closed ${instance}`),
    },
  });
  reports.follow(agent.uid, [{ agent, instance: 'i1', address: 'unix:/a', keys }]);
  const line = {
    ...{ type: 'task' as const, key: 'u/1', id: 't', status: 'running' as const, reason: '', message: '' },
    ...{ exitCode: null, startedAt: null, finishedAt: null, resultBytes: 0, isError: false },
  };
  const [stream] = streams.opened;
  stream?.push({ type: 'hello', version: '1', instance: 'i1' });
  stream?.push(line);
  stream?.cut();
  await clock.advance(1_000);
  streams.opened[1]?.push({ type: 'hello', version: '1', instance: 'i1' });
  reports.forget(agent.uid);
  await setImmediate();
  assert.deepEqual(told, ['opened i1', 'i1: u/1 running', 'opened i1', 'closed i1']);
});

/** Reports, and what their streams said of tasks. */
function withTasks() {
  const streams = createStreams();
  const clock = createFakeClock();
  const told: string[] = [];
  const changes: string[] = [];
  const reports = createAgentReports({
    open: streams.open,
    ...{ clock, random: systemRandom, log: silentLog },
    onChange: ({ uid }) => changes.push(uid),
    tasks: {
      opened: () => undefined,
      began: () => undefined,
      told: ({ instance }, { key, status }) => told.push(`${instance}: ${key} ${status}`),
      closed: ({ instance }) => told.push(`closed ${instance}`),
    },
  });
  return {
    streams,
    clock,
    told,
    changes,
    reports,
    target: { agent, instance: 'i1', address: 'unix:/a', keys },
  };
}

const completed = {
  ...{ type: 'task' as const, key: 'u/1', id: 't', status: 'completed' as const, reason: '', message: '' },
  ...{ exitCode: null, startedAt: null, finishedAt: null, resultBytes: 0, isError: false },
};

test('an instance that ends is heard of its tasks until it is gone, and of itself no more', async () => {
  const { streams, told, changes, reports, target } = withTasks();
  reports.follow(agent.uid, [target]);
  streams.opened[0]?.push(state(true));
  reports.follow(agent.uid, [{ ...target, ends: true }]);
  assert.deepEqual([streams.opened.length, reports.get(agent.uid)], [1, []]);
  streams.opened[0]?.push(state(false));
  streams.opened[0]?.push(completed);
  assert.deepEqual([told, changes.length], [['i1: u/1 completed'], 1]);
  reports.follow(agent.uid, []);
  await setImmediate();
  assert.deepEqual([told.at(-1), streams.opened[0]?.options.signal.aborted], ['closed i1', true]);
  reports.close();
});

test('those that are left are heard until their streams end, and not followed again', async () => {
  const { streams, clock, told, reports, target } = withTasks();
  reports.follow(agent.uid, [target, { ...target, instance: 'i2' }]);
  streams.opened[0]?.push(state(true));
  reports.leave(agent.uid);
  assert.deepEqual(
    [reports.get(agent.uid), told],
    [[], ['closed i2']],
    'one that was not heard is left at once',
  );
  streams.opened[0]?.push(completed);
  streams.opened[0]?.cut();
  await clock.advance(120_000);
  assert.deepEqual([told.slice(1), streams.opened.length], [['i1: u/1 completed', 'closed i1'], 2]);
  assert.equal(clock.pending, 0);
  reports.close();
});

test('one that was left and is wanted after all is what it was', async () => {
  const { streams, clock, changes, reports, target } = withTasks();
  reports.follow(agent.uid, [target]);
  streams.opened[0]?.push(state(true));
  reports.leave(agent.uid);
  reports.follow(agent.uid, [target]);
  assert.equal(reports.get(agent.uid)[0]?.ready, true);
  streams.opened[0]?.cut();
  await clock.advance(1_000);
  assert.deepEqual([streams.opened.length, changes.length], [2, 1]);
  reports.close();
});
