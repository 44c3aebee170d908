import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { findCondition } from '#api/conditions.ts';
import { cancelAnnotation } from '#api/labels.ts';
import type { Task } from '#api/task.ts';
import { noDependencies } from './dependencies.ts';
import type { TaskFacts } from './facts.ts';
import { nextStep } from './next-step.ts';
import type { Step } from './step.ts';
import { after, makeAgent, makeAttempt, makeFacts, makeLine, makeTask, noon } from './testing.ts';

/** A Task whose attempt an instance has. */
function given(spec: object = {}, status: Partial<NonNullable<Task['status']>> = {}): Task {
  const task = makeTask(spec);
  const claimed = after(task, nextStep(makeFacts(task)));
  return { ...claimed, status: { ...claimed.status, ...status } };
}

function whatIs({ status, effects = [], waitMs }: Step) {
  const stalled = findCondition(status?.conditions, 'Stalled');
  const complete = findCondition(status?.conditions, 'Complete');
  return {
    phase: status?.phase,
    ...(stalled?.status === 'True' && { stalled: stalled.reason }),
    ...(complete && { complete: complete.reason }),
    ...(effects.length > 0 && { effects: effects.map(({ type }) => type) }),
    ...(waitMs && { waitMs }),
  };
}

describe('Before an instance has it', () => {
  const task = makeTask();
  const cases: readonly [string, Partial<TaskFacts>, object][] = [
    ['a Task that somebody can do is claimed', {}, { phase: 'Queued' }],
    [
      'one with a field that nothing carries out is refused',
      { refusals: [{ reason: 'NotImplemented', message: 'spec.session is not implemented yet.' }] },
      { phase: 'Pending' },
    ],
    [
      'one that nobody can do waits, and says why',
      { choice: { ok: false, reason: 'AgentNotReady', message: 'Agent "demo" is not Ready.' } },
      { phase: 'Pending', stalled: 'AgentNotReady' },
    ],
    [
      'one whose dependencies go on is held',
      { dependencies: { ...noDependencies, waiting: ['a'] } },
      { phase: 'Held' },
    ],
    [
      'one whose dependency did not succeed has failed',
      { dependencies: { ...noDependencies, failed: [{ name: 'a', phase: 'TimedOut' }] } },
      { phase: 'Failed', complete: 'DependencyFailed' },
    ],
    [
      'one whose dependency is not there is held, and says so',
      { dependencies: { ...noDependencies, missing: ['a'] } },
      { phase: 'Held', stalled: 'DependencyMissing' },
    ],
    [
      'one that waits for itself is held, and says so',
      { dependencies: { ...noDependencies, waiting: ['a'], cycle: ['build', 'a', 'build'] } },
      { phase: 'Held', stalled: 'DependencyCycle' },
    ],
    ['one that is suspended is held', { task: makeTask({ suspend: true }) }, { phase: 'Held' }],
    [
      'one that is cancelled has ended',
      { task: makeTask({}, { annotations: { [cancelAnnotation]: 'now' } }) },
      { phase: 'Cancelled', complete: 'Cancelled' },
    ],
    [
      'one that pauses between attempts waits',
      { task: { ...task, status: { attempts: 1, nextAttemptTime: '2026-01-01T12:00:05Z' } } },
      { phase: 'Pending', waitMs: 5000 },
    ],
  ];
  for (const [name, facts, expected] of cases) {
    it(name, () => assert.deepEqual(whatIs(nextStep(makeFacts(task, facts))), expected));
  }

  it('a claim says who has it, and counts', () => {
    const { status } = nextStep(makeFacts(task));
    const { attempts, agent, instance, claimedBy, createdAt } = status ?? {};
    assert.deepEqual([attempts, agent, instance, claimedBy], [1, 'demo', 'demo-i0', 'here']);
    assert.equal(createdAt, '2026-01-01T12:00:00Z');
  });

  it('why it waits is taken back when it gets on', () => {
    const choice = { ok: false, reason: 'AgentNotReady', message: 'x' } as const;
    const waiting = after(task, nextStep(makeFacts(task, { choice })));
    const stalled = findCondition(nextStep(makeFacts(waiting)).status?.conditions, 'Stalled');
    assert.deepEqual([stalled?.status, stalled?.reason], ['False', 'Advancing']);
  });
});

describe('While an instance has it', () => {
  it('the instance is asked', () => {
    assert.deepEqual(whatIs(nextStep(makeFacts(given(), { attempt: makeAttempt() }))), {
      phase: 'Queued',
      effects: ['ask'],
    });
  });

  const lines: readonly [string, object, Partial<Parameters<typeof makeLine>[0]>, object][] = [
    ['what waits there is Queued', {}, { status: 'pending' }, { phase: 'Queued' }],
    ['what runs there is Running', {}, { status: 'running' }, { phase: 'Running' }],
    [
      'what ended well has Succeeded',
      {},
      { status: 'completed' },
      { phase: 'Succeeded', complete: 'Succeeded' },
    ],
    [
      'what says itself that it failed has Failed',
      {},
      { status: 'completed', isError: true },
      { phase: 'Failed', complete: 'Failed' },
    ],
    [
      'what failed has Failed',
      {},
      { status: 'failed', reason: 'Failed' },
      { phase: 'Failed', complete: 'Failed' },
    ],
    [
      'what took too long is TimedOut',
      {},
      { status: 'failed', reason: 'TimedOut' },
      { phase: 'TimedOut', complete: 'TimedOut' },
    ],
    [
      'what was lost with its agent-server has Failed, and says how',
      {},
      { status: 'failed', reason: 'Interrupted' },
      { phase: 'Failed', complete: 'Interrupted' },
    ],
    [
      'what was cancelled there is Cancelled',
      {},
      { status: 'cancelled' },
      { phase: 'Cancelled', complete: 'Cancelled' },
    ],
    [
      'what asks has nobody to ask, and is ended',
      {},
      { status: 'input_required' },
      { phase: 'Failed', complete: 'InputRequired', effects: ['end'] },
    ],
    [
      'what was lost is tried again, by default as often as limit says',
      { retry: { limit: 1 } },
      { status: 'failed', reason: 'Interrupted' },
      { phase: 'Pending', waitMs: 1000 },
    ],
    [
      'what failed is not tried again by default',
      { retry: { limit: 1 } },
      { status: 'failed', reason: 'Failed' },
      { phase: 'Failed', complete: 'Failed' },
    ],
    [
      'what failed is tried again where that is asked for',
      { retry: { limit: 1, when: ['Failed'], backoff: { initialSeconds: 7 } } },
      { status: 'failed', reason: 'Failed' },
      { phase: 'Pending', waitMs: 7000 },
    ],
  ];
  for (const [name, spec, line, expected] of lines) {
    it(name, () => {
      const attempt = makeAttempt({ line: makeLine(line), holder: 'demo-i0' });
      assert.deepEqual(whatIs(nextStep(makeFacts(given(spec), { attempt }))), expected);
    });
  }

  it('the last attempt is the last', () => {
    const task = given({ retry: { limit: 2, when: ['Failed'] } }, { attempts: 3 });
    const attempt = makeAttempt({ line: makeLine({ status: 'failed', reason: 'Failed' }) });
    assert.equal(nextStep(makeFacts(task, { attempt })).status?.phase, 'Failed');
  });

  it('the pause grows with each attempt', () => {
    const task = given({ retry: { limit: 9, when: ['Failed'] } }, { attempts: 4 });
    const attempt = makeAttempt({ line: makeLine({ status: 'failed', reason: 'Failed' }) });
    assert.equal(nextStep(makeFacts(task, { attempt })).waitMs, 8000);
  });

  it('the end keeps result, exit code and times', () => {
    const line = makeLine({
      status: 'failed',
      reason: 'Failed',
      exitCode: 3,
      message: 'command exited\nwith code 3',
      result: { content: [], isError: true },
      isError: true,
      finishedAt: '2026-01-01T11:59:30.999Z',
    });
    const { status } = nextStep(makeFacts(given(), { attempt: makeAttempt({ line }) }));
    assert.deepEqual(status?.result, {
      content: '{"content":[],"isError":true}',
      bytes: 29,
      isError: true,
      message: 'command exited with code 3',
    });
    const { exitCode, startedAt, completedAt, taskId } = status ?? {};
    assert.deepEqual([exitCode, taskId], [3, 't1']);
    assert.deepEqual([startedAt, completedAt], ['2026-01-01T11:59:00Z', '2026-01-01T11:59:30Z']);
  });

  it('of a result that is too large its size is kept', () => {
    const line = makeLine({ status: 'completed', resultBytes: 70_000 });
    const { status } = nextStep(makeFacts(given(), { attempt: makeAttempt({ line }) }));
    assert.deepEqual(status?.result, { bytes: 70_000, isError: false });
  });

  it('an attempt that nobody has any more was interrupted', () => {
    const attempt = makeAttempt({ isLost: true, ask: undefined });
    assert.deepEqual(whatIs(nextStep(makeFacts(given(), { attempt }))), {
      phase: 'Failed',
      complete: 'Interrupted',
    });
    const retried = nextStep(makeFacts(given({ retry: { limit: 1 } }), { attempt })).status;
    assert.deepEqual([retried?.phase, retried?.instance, retried?.agent], ['Pending', undefined, undefined]);
  });

  it('a wrong tool or input ends it, without another attempt', () => {
    const trouble = { kind: 'refused', message: 'no such tool', failures: 1, until: 0 } as const;
    const task = given({ retry: { limit: 5, when: ['Failed', 'Interrupted', 'TimedOut'] } });
    const step = nextStep(makeFacts(task, { attempt: makeAttempt({ trouble }) }));
    assert.deepEqual(whatIs(step), { phase: 'Failed', complete: 'Refused' });
  });

  it('a busy agent is asked again after a pause, and the second time it is said', () => {
    const step = (failures: number) => {
      const trouble = { kind: 'busy', message: 'full', failures, until: noon + 500 } as const;
      return whatIs(nextStep(makeFacts(given(), { attempt: makeAttempt({ trouble }) })));
    };
    assert.deepEqual(step(1), { phase: 'Queued', waitMs: 500 });
    assert.deepEqual(step(2), { phase: 'Queued', stalled: 'AgentBusy', waitMs: 500 });
  });

  it('a Task that is cancelled is ended there, and is Cancelled when it has ended', () => {
    const task = given();
    const annotated = {
      ...task,
      metadata: { ...task.metadata, annotations: { [cancelAnnotation]: 'now' } },
    };
    const running = makeAttempt({ line: makeLine() });
    assert.deepEqual(whatIs(nextStep(makeFacts(annotated, { attempt: running }))), {
      phase: 'Running',
      effects: ['end'],
    });
    const attempt = makeAttempt({ line: makeLine({ status: 'cancelled' }) });
    assert.equal(nextStep(makeFacts(annotated, { attempt })).status?.phase, 'Cancelled');
  });

  it('a cancellation that was not heard is repeated after a pause, and the second time it is said', () => {
    const task = given();
    const annotated = { ...task, metadata: { ...task.metadata, annotations: { [cancelAnnotation]: 'now' } } };
    const step = (failures: number, until = noon + 500) => {
      const trouble = { kind: 'unreachable', message: 'x.', failures, until } as const;
      return nextStep(makeFacts(annotated, { attempt: makeAttempt({ line: makeLine(), trouble }) }));
    };
    assert.deepEqual(whatIs(step(1)), { phase: 'Running', waitMs: 500 });
    assert.deepEqual(whatIs(step(2)), { phase: 'Running', stalled: 'AgentUnreachable', waitMs: 500 });
    assert.deepEqual(whatIs(step(1, noon)), { phase: 'Running', effects: ['end'] });
    const stalled = findCondition(step(2).status?.conditions, 'Stalled');
    assert.equal(stalled?.message, 'x. The cancellation waits for that.');
  });

  it('a cancelled Task that no agent had room for has ended, one that may have been taken waits', () => {
    const look = (taskId: string | undefined) => {
      const task = given({}, { taskId });
      const annotated = {
        ...task,
        metadata: { ...task.metadata, annotations: { [cancelAnnotation]: 'now' } },
      };
      const trouble = { kind: 'busy', message: 'full', failures: 2, until: noon + 500 } as const;
      const attempt = makeAttempt({ trouble, noRoom: true });
      return whatIs(nextStep(makeFacts(annotated, { attempt })));
    };
    assert.deepEqual(look(undefined), { phase: 'Cancelled', complete: 'Cancelled' });
    assert.deepEqual(look('t1'), { phase: 'Queued', stalled: 'AgentBusy', waitMs: 500 });
  });

  it('attempts that are none of its own any more are ended', () => {
    const attempt = makeAttempt({ line: makeLine() });
    const { effects } = nextStep(makeFacts(given(), { attempt, strays: ['uid-build/0'] }));
    assert.deepEqual(effects, [{ type: 'end', keys: ['uid-build/0'] }]);
  });
});

describe('With isolation Pod', () => {
  const task = makeTask({ isolation: 'Pod' });
  const target = makeAgent('demo', { storage: { size: '1Gi' }, runtime: { replicas: 3 }, role: 'ops' });
  const facts = makeFacts(task, { choice: { ok: true, agent: target, instance: '' } });

  it('an Agent of its own is made of the other’s spec, and gets the attempt when it is Ready', () => {
    const [own] = nextStep(facts).create ?? [];
    assert.ok(own?.kind === 'Agent');
    assert.match(own.metadata.name, /^build-[0-9a-f]{8}-1$/);
    assert.deepEqual(own.metadata.labels, { 'ploinky.dev/task': 'build' });
    assert.equal(own.metadata.ownerReferences?.[0]?.uid, 'uid-build');
    assert.deepEqual([own.spec.runtime.replicas, own.spec.storage], [1, { retain: false }]);
    assert.equal(own.spec.role, 'ops');
    const starting = { ...makeAgent(own.metadata.name, {}, false), metadata: own.metadata };
    const waiting = nextStep({ ...facts, own: [starting] });
    assert.deepEqual([waiting.create, waiting.status?.phase], [undefined, 'Pending']);
    const ready = { ...makeAgent(own.metadata.name), metadata: own.metadata };
    const { status } = nextStep({ ...facts, own: [ready] });
    assert.deepEqual([status?.phase, status?.agent], ['Queued', own.metadata.name]);
  });

  it('a result that there is no room for is lost with the pod: the Task has failed, and is not tried again', () => {
    const line = makeLine({ status: 'completed', resultBytes: 70_000 });
    const attempt = makeAttempt({ line });
    const retry = { limit: 3, when: ['Failed'] };
    const { status } = nextStep(makeFacts(given({ isolation: 'Pod', retry }), { attempt }));
    assert.deepEqual([status?.phase, status?.result?.bytes], ['Failed', 70_000]);
    const complete = findCondition(status?.conditions, 'Complete');
    assert.match(complete?.message ?? '', /70000 bytes is lost.*at most 65536 bytes.*isolation: Shared/);
  });

  it('its Agent goes when it has ended, and that of an attempt before the next', () => {
    const own = makeAgent('build-12345678-1');
    const ended = { ...task, status: { phase: 'Succeeded' as const, attempts: 1 } };
    const names = (step: Step) => step.removeAgents?.map(({ name }) => name);
    assert.deepEqual(names(nextStep({ ...facts, task: ended, own: [own] })), ['build-12345678-1']);
    const again = { ...task, status: { phase: 'Pending' as const, attempts: 1 } };
    assert.deepEqual(names(nextStep({ ...facts, task: again, own: [own] })), ['build-12345678-1']);
  });
});

describe('When it has ended', () => {
  const done = (spec: object = {}): Task => ({
    ...makeTask(spec),
    status: { phase: 'Succeeded', completedAt: '2026-01-01T11:59:50Z' },
  });

  it('it stays as it is', () => assert.deepEqual(nextStep(makeFacts(done())), { removeAgents: [] }));

  it('it goes after its time to live, but not before the schedule that made it has noted it', () => {
    const step = (seconds: number, unnoted = false) => {
      const { removeItself = false, waitMs } = nextStep(
        makeFacts(done({ ttlSecondsAfterFinished: seconds }), { unnoted }),
      );
      return [removeItself, waitMs];
    };
    assert.deepEqual(step(15), [false, 5000]);
    assert.deepEqual(step(10), [true, undefined]);
    assert.deepEqual(step(10, true), [false, 1000]);
  });

  it('it stays for as long as others wait for it', () => {
    const step = (needed: boolean) =>
      nextStep(makeFacts(done({ ttlSecondsAfterFinished: 0 }), { needed })).removeItself ?? false;
    assert.deepEqual([step(true), step(false)], [false, true]);
  });
});

test('the second look at anything writes nothing, whatever time it is', () => {
  const task = makeTask();
  const choices: Partial<TaskFacts>[] = [
    { refusals: [{ reason: 'Invalid', message: 'x' }] },
    { choice: { ok: false, reason: 'AgentNotFound', message: 'x' } },
    { dependencies: { ...noDependencies, waiting: ['a'] } },
    { dependencies: { ...noDependencies, cycle: ['a'] } },
  ];
  for (const facts of choices) {
    const first = nextStep(makeFacts(task, facts)).status;
    assert.ok(first);
    const second = nextStep(makeFacts({ ...task, status: first }, { ...facts, now: noon + 60_000 }));
    assert.deepEqual(second.status, first);
  }
  const attempt = makeAttempt({ line: makeLine(), holder: 'demo-i0' });
  const running = after(given(), nextStep(makeFacts(given(), { attempt })));
  const again = nextStep(makeFacts(running, { attempt, now: noon + 60_000 }));
  assert.deepEqual([again.status, again.notices], [running.status, []]);
});
