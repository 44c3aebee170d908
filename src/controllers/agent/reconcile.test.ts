import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent, AgentStatus } from '#api/agent.ts';
import { hostWorkloadFinalizer } from '#api/finalizers.ts';
import type { Driver } from '#drivers/driver.ts';
import type { Observed, ObservedInstance, Workload, WorkloadId } from '#drivers/workload.ts';
import { sameStatus } from '#kube/same-status.ts';
import type { AgentFacts, AgentReport } from './facts.ts';
import { type AgentReconcilerOptions, createAgentReconciler } from './reconcile.ts';
import type { ReportTarget } from './reports.ts';
import { makeAgent, makeFacts, makeInstance, makeObserved, makeReport, noon } from './testing.ts';
import { createUpgrades } from './upgrades.ts';

/** One Agent in an API that counts writes, one driver that answers what the test says, one clock that stands. */
function createStage(initial: Agent) {
  const stage = {
    agent: initial as Agent | undefined,
    writes: [] as string[],
    events: [] as string[],
    ensured: [] as { workload: Workload; start: boolean; upgrade?: readonly string[] | undefined }[],
    removed: [] as { retain: boolean }[],
    forgotten: [] as string[],
    upgrades: createUpgrades(1),
    followed: [] as ReportTarget[],
    /** What was done about those that are to end. */
    left: [] as string[],
    given: [] as unknown[],
    report: undefined as AgentReport | undefined,
    answer: (workload: Workload): Observed => makeObserved({ specHash: workload.specHash }),
    gone: true,
    facts: {} as Partial<AgentFacts>,
    now: noon,
    ready() {
      return stage.agent?.status?.conditions?.find(({ type }) => type === 'Ready')?.reason;
    },
    async reconcile() {
      if (stage.agent === undefined) throw new Error('the Agent is gone');
      return reconciler.reconcile(stage.agent);
    },
    forget: (id: WorkloadId) => reconciler.forget(id),
  };
  const replace = (agent: Agent) => {
    stage.agent = agent;
  };
  const driver: Driver = {
    name: 'bwrap',
    available: async () => ({ ok: true, detail: '' }),
    async ensure(workload, { start, upgrade }) {
      stage.ensured.push({ workload, start, upgrade });
      return stage.answer(workload);
    },
    async remove(_id, { retain }) {
      stage.removed.push({ retain });
      return { done: stage.gone };
    },
    forget: ({ uid }) => void stage.forgotten.push(uid),
    list: async () => [],
    watch: () => () => undefined,
    logs: async function* () {},
    close: async () => undefined,
  };
  const client = {
    async patch(_resource: unknown, _key: unknown, patch: { body: object }) {
      stage.writes.push('finalizers');
      const { metadata } = patch.body as { metadata: { finalizers: string[] } };
      const agent = stage.agent ?? initial;
      if (metadata.finalizers.length === 0) stage.agent = undefined;
      return { ...agent, metadata: { ...agent.metadata, finalizers: metadata.finalizers } };
    },
    async applyStatus(_resource: unknown, current: Agent, status: AgentStatus) {
      if (sameStatus(current.status, status)) return current;
      stage.writes.push('status');
      return { ...current, status };
    },
  } as unknown as AgentReconcilerOptions['client'];
  const reconciler = createAgentReconciler({
    client,
    drivers: [driver],
    reports: {
      follow: (_uid, targets, known) => {
        stage.followed.push(...targets);
        stage.report ??= known?.(targets[0]?.instance ?? '');
      },
      leave: () => void stage.left.push('leave'),
      forget: () => void stage.left.push('forget'),
      get: () => (stage.report === undefined ? [] : [stage.report]),
      close: () => undefined,
    },
    handOvers: {
      give: (_uid, targets, secrets) =>
        stage.given.push([targets.map(({ instance }) => instance), secrets.headers]),
      forget: () => undefined,
      close: () => undefined,
    },
    host: { codeRoot: '/ws' },
    upgrades: stage.upgrades,
    events: { event: (_about, type, reason) => stage.events.push(`${type} ${reason}`) },
    observe: replace,
    gather: async (agent, memory) =>
      makeFacts({
        agent,
        history: memory.history,
        observed: memory.observed,
        reports: stage.report === undefined ? [] : [stage.report],
        now: stage.now,
        ...stage.facts,
      }),
  });
  return stage;
}

const held = () => makeAgent({}, { finalizers: [hostWorkloadFinalizer] });

test('the finalizer is there before anything runs', async () => {
  const stage = createStage(makeAgent());
  await stage.reconcile();
  assert.deepEqual(stage.agent?.metadata.finalizers, [hostWorkloadFinalizer]);
  assert.equal(stage.ensured.length, 0);
});

test('the second reconcile of a Ready agent writes nothing', async () => {
  const stage = createStage(held());
  stage.report = makeReport();
  await stage.reconcile();
  assert.equal(stage.ready(), 'Ready');
  const before = stage.writes.length;
  stage.now += 3_600_000;
  await stage.reconcile();
  assert.equal(stage.writes.length, before);
});

for (const [state, facts] of Object.entries<Partial<AgentFacts>>({
  refused: { refusals: [{ reason: 'NotImplemented', message: 'spec.budget' }] },
  'held for a dependency': { dependencies: { missing: ['db'], waiting: [], cycle: [] } },
  'without a driver': {
    runtime: { ok: false, unavailable: { ok: false, reason: 'no.', remedy: 'install.' } },
  },
})) {
  test(`the second reconcile of an agent that is ${state} writes nothing`, async () => {
    const stage = createStage(held());
    stage.facts = facts;
    stage.answer = () => makeObserved({ phase: 'Absent', instances: [] });
    await stage.reconcile();
    await stage.reconcile();
    const before = stage.writes.length;
    stage.now += 60_000;
    await stage.reconcile();
    assert.equal(stage.writes.length, before);
  });
}

test('a running sandbox is listened to with the keys of its agent', async () => {
  const stage = createStage(held());
  await stage.reconcile();
  const [target] = stage.followed;
  assert.deepEqual([target?.instance, target?.address, target?.keys.length], ['i1', 'unix:/run/demo', 1]);
});

test('one that ends is listened to until it is gone, and given nothing', async () => {
  const stage = createStage(held());
  stage.facts = { upstream: { headers: { 'x-key': 'k' } } };
  const instances = [makeInstance({ terminating: true })];
  stage.answer = ({ specHash }) => makeObserved({ phase: 'Stopping', specHash, instances });
  await stage.reconcile();
  assert.deepEqual(
    stage.followed.map(({ instance, ends }) => [instance, ends]),
    [['i1', true]],
  );
  assert.deepEqual(stage.given, [[[], { 'x-key': 'k' }]]);
});

test('what is suspended or deleted is listened to while it ends', async () => {
  const finalizers = [hostWorkloadFinalizer];
  const stage = createStage(makeAgent({ runtime: { suspend: true } }, { finalizers }));
  stage.gone = false;
  await stage.reconcile();
  assert.deepEqual(stage.left, ['leave']);
  stage.gone = true;
  await stage.reconcile();
  assert.deepEqual(stage.left, ['leave', 'leave', 'forget']);
  const deleted = createStage(makeAgent({}, { finalizers, deletionTimestamp: '2026-01-01T12:00:00Z' }));
  deleted.gone = false;
  await deleted.reconcile();
  assert.deepEqual(deleted.left, ['leave']);
});

test('a sandbox that runs is given what its upstream is asked with now, a pod reads it by itself', async () => {
  const upstream = { headers: { 'x-key': 'k' } };
  const stage = createStage(held());
  stage.facts = { upstream };
  await stage.reconcile();
  assert.deepEqual(stage.given, [[['i1'], upstream.headers]]);
  stage.facts = { upstream, runtime: { ok: true, class: 'Pod', driver: 'bwrap' } };
  await stage.reconcile();
  assert.equal(stage.given.length, 1);
});

test('the workload carries the key of its agent and not the master key', async () => {
  const stage = createStage(held());
  await stage.reconcile();
  const text = JSON.stringify(stage.ensured[0]?.workload);
  const master = Buffer.alloc(32, 7);
  for (const encoding of ['hex', 'base64', 'base64url'] as const)
    assert.ok(!text.includes(master.toString(encoding)));
  assert.equal(stage.ensured[0]?.workload.agentServer.keys.length, 1);
});

test('a sandbox that ended is started again after the pause, and not before', async () => {
  const stage = createStage(held());
  const ended = makeInstance({ exit: { code: 1, signal: null, at: noon } });
  stage.answer = ({ specHash }) =>
    makeObserved({ phase: 'Failed', specHash, instances: [ended], message: 'exit code 1' });
  assert.deepEqual(await stage.reconcile(), { kind: 'again', afterMs: 0 });
  const waiting = await stage.reconcile();
  assert.deepEqual(waiting, { kind: 'again', afterMs: 1_000 });
  assert.equal(stage.ensured.at(-1)?.start, false);
  assert.equal(stage.ready(), 'BackOff');
  stage.now += 1_000;
  stage.answer = ({ specHash }) => makeObserved({ specHash, instances: [makeInstance({ uid: 'i2' })] });
  await stage.reconcile();
  assert.equal(stage.ensured.at(-1)?.start, true);
  assert.equal(stage.agent?.status?.restarts, 1);
});

test('six ends in a row halt the agent, and a new restart annotation resumes it', async () => {
  const stage = createStage(held());
  for (let round = 1; round <= 6; round += 1) {
    const ended = makeInstance({ uid: `i${round}`, exit: { code: 1, signal: null, at: stage.now } });
    stage.answer = ({ specHash }) => makeObserved({ phase: 'Failed', specHash, instances: [ended] });
    await stage.reconcile();
    stage.now += 60_000;
  }
  await stage.reconcile();
  assert.equal(stage.ready(), 'CrashLoop');
  assert.equal(stage.ensured.at(-1)?.start, false);
  const agent = stage.agent ?? held();
  stage.agent = { ...agent, metadata: { ...agent.metadata, annotations: { 'ploinky.dev/restart': 'now' } } };
  stage.answer = ({ specHash }) => makeObserved({ phase: 'Absent', specHash, instances: [] });
  await stage.reconcile();
  await stage.reconcile();
  assert.equal(stage.ensured.at(-1)?.start, true);
});

test('an instance that ends because another spec replaces it has not failed', async () => {
  const stage = createStage(held());
  const ended = makeInstance({ exit: { code: 0, signal: null, at: noon } });
  stage.answer = () => makeObserved({ phase: 'Stopping', specHash: 'an earlier one', instances: [ended] });
  await stage.reconcile();
  stage.answer = ({ specHash }) => makeObserved({ specHash, instances: [makeInstance({ uid: 'i2' })] });
  await stage.reconcile();
  assert.equal(stage.ensured.at(-1)?.start, true);
  assert.deepEqual([stage.agent?.status?.restarts, stage.events], [0, []]);
});

test('operators are told once of an end and once of Ready', async () => {
  const stage = createStage(held());
  const ended = makeInstance({ exit: { code: 1, signal: null, at: noon } });
  stage.answer = ({ specHash }) => makeObserved({ phase: 'Failed', specHash, instances: [ended] });
  await stage.reconcile();
  await stage.reconcile();
  await stage.reconcile();
  stage.now += 1_000;
  stage.report = makeReport({ instance: 'i2' });
  stage.answer = ({ specHash }) => makeObserved({ specHash, instances: [makeInstance({ uid: 'i2' })] });
  await stage.reconcile();
  assert.deepEqual(stage.events, ['Warning BackOff', 'Normal Ready']);
});

test('a tool that changes while the spec is the same is an Event, and one that changes with it is none', async () => {
  const stage = createStage(makeAgent({}, { finalizers: [hostWorkloadFinalizer], generation: 1 }));
  const say = async (tools: Record<string, string>) => {
    stage.report = makeReport({ tools });
    await stage.reconcile();
  };
  await say({ add: 'x' });
  await say({ add: 'x', echo: 'y' });
  assert.deepEqual(stage.events, ['Normal Ready']);
  await say({ add: 'z', echo: 'y' });
  await say({ add: 'z', echo: 'y' });
  assert.deepEqual(stage.events, ['Normal Ready', 'Warning ToolChanged']);
  const agent = stage.agent as Agent;
  stage.agent = { ...agent, metadata: { ...agent.metadata, generation: 2 } };
  await say({ add: 'other', echo: 'y' });
  assert.equal(stage.events.length, 2);
});

test('a controller that has just started leaves a Ready agent Ready', async () => {
  const earlier = createStage(held());
  earlier.report = makeReport();
  await earlier.reconcile();
  const later = createStage(earlier.agent ?? held());
  await later.reconcile();
  assert.deepEqual([later.ready(), later.writes], ['Ready', []]);
});

test('an end that an earlier controller counted is not counted again', async () => {
  const ended = makeInstance({ exit: { code: 1, signal: null, at: noon } });
  const answer = ({ specHash }: Workload) => makeObserved({ phase: 'Failed', specHash, instances: [ended] });
  const earlier = createStage(held());
  earlier.answer = answer;
  await earlier.reconcile();
  await earlier.reconcile();
  assert.equal(earlier.agent?.status?.restarts, 1);
  const later = createStage(earlier.agent ?? held());
  later.answer = answer;
  await later.reconcile();
  await later.reconcile();
  assert.equal(later.agent?.status?.restarts, 1);
});

test('an end while no controller ran is counted by the next one', async () => {
  const earlier = createStage(held());
  earlier.report = makeReport();
  await earlier.reconcile();
  const later = createStage(earlier.agent ?? held());
  const ended = makeInstance({ exit: { code: 1, signal: null, at: noon } });
  later.answer = ({ specHash }) => makeObserved({ phase: 'Failed', specHash, instances: [ended] });
  await later.reconcile();
  await later.reconcile();
  assert.equal(later.agent?.status?.restarts, 1);
});

test('a suspended agent ends and keeps its workspace', async () => {
  const stage = createStage(
    makeAgent({ runtime: { suspend: true } }, { finalizers: [hostWorkloadFinalizer] }),
  );
  await stage.reconcile();
  assert.deepEqual(stage.removed, [{ retain: true }]);
  assert.equal(stage.ready(), 'Suspended');
});

test('a spec that is refused ends what runs, also when its runtime is none of this machine', async () => {
  const stage = createStage(makeAgent({}, { finalizers: [hostWorkloadFinalizer] }));
  stage.facts = {
    refusals: [{ reason: 'NotImplemented', message: 'spec.heartbeat is not implemented.' }],
    runtime: { ok: false, unavailable: { ok: false, reason: 'no Pods here.', remedy: '' } },
  };
  await stage.reconcile();
  assert.deepEqual(stage.removed, [{ retain: true }]);
  assert.equal(stage.ready(), 'NotImplemented');
});

test('an Agent that is gone without its finalizer takes its sandbox along, not its workspace', async () => {
  const stage = createStage(held());
  await stage.reconcile();
  stage.gone = false;
  const id = { namespace: 'default', name: 'demo', uid: 'uid-demo' };
  assert.equal(await stage.forget(id), false);
  stage.gone = true;
  assert.equal(await stage.forget(id), true);
  assert.deepEqual(stage.removed, [{ retain: true }, { retain: true }]);
  assert.deepEqual(stage.forgotten, [id.uid, id.uid], 'the driver need not remember it either');
  assert.deepEqual(new Set(stage.left), new Set(['leave']), 'what becomes of its tasks is still told');
});

test('a deleted Agent leaves the API only when its sandbox is gone', async () => {
  const stage = createStage(
    makeAgent(
      { storage: { retain: false } },
      { finalizers: [hostWorkloadFinalizer], deletionTimestamp: '2026-01-01T12:00:00Z' },
    ),
  );
  stage.gone = false;
  await stage.reconcile();
  assert.ok(stage.agent !== undefined);
  stage.gone = true;
  await stage.reconcile();
  assert.equal(stage.agent, undefined);
  assert.deepEqual(stage.removed, [{ retain: false }, { retain: false }]);
});

const onCluster: Partial<AgentFacts> = { runtime: { ok: true, class: 'Pod', driver: 'bwrap' } };
const pod = (change: Partial<ObservedInstance> = {}) =>
  makeInstance({ uid: 'p1', address: '10.0.0.1:7000', ready: true, restarts: 0, ...change });

test('a pod needs no finalizer and is Ready by its own word, also before its agent-server was heard', async () => {
  const stage = createStage(makeAgent());
  stage.facts = onCluster;
  stage.answer = ({ specHash }) => makeObserved({ specHash, instances: [pod()], current: 1 });
  await stage.reconcile();
  assert.deepEqual([stage.ready(), stage.writes], ['Ready', ['status']]);
  await stage.reconcile();
  assert.deepEqual(stage.writes, ['status']);
});

test('from creation to Ready a pod costs two writes of status', async () => {
  const stage = createStage(makeAgent());
  stage.facts = onCluster;
  const steps = [
    makeObserved({ phase: 'Starting', instances: [pod({ address: '', ready: false })], current: 0 }),
    makeObserved({ phase: 'Running', instances: [pod({ ready: false })], current: 0 }),
    makeObserved({ phase: 'Running', instances: [pod()], current: 1 }),
  ];
  for (const step of steps) {
    stage.answer = ({ specHash }) => ({ ...step, specHash });
    await stage.reconcile();
  }
  assert.deepEqual(stage.writes, ['status', 'status']);
});

test('every pod that takes calls is an endpoint; what is missing of the replicas is Progressing', async () => {
  const stage = createStage(makeAgent({ runtime: { replicas: 3 } }));
  stage.facts = onCluster;
  const instances = [pod(), pod({ uid: 'p2', address: '10.0.0.2:7000' }), pod({ uid: 'p3', ready: false })];
  stage.answer = ({ specHash }) => makeObserved({ specHash, instances, current: 2 });
  await stage.reconcile();
  const { endpoints, conditions, replicas } = stage.agent?.status ?? {};
  assert.deepEqual([endpoints?.map(({ uid }) => uid), replicas], [['p1', 'p2'], 3]);
  const progressing = conditions?.find(({ type }) => type === 'Progressing');
  assert.deepEqual([stage.ready(), progressing?.status, progressing?.reason], ['Ready', 'True', 'Updating']);
});

test('a fault is told in the substrate’s words, while other replicas answer too', async () => {
  const stage = createStage(makeAgent({ runtime: { replicas: 2 } }));
  stage.facts = onCluster;
  const fault = { reason: 'ImagePullFailed', message: 'registry: not found' };
  stage.answer = ({ specHash }) => makeObserved({ specHash, phase: 'Starting', instances: [], fault });
  await stage.reconcile();
  assert.equal(stage.ready(), 'ImagePullFailed');
  stage.answer = ({ specHash }) => makeObserved({ specHash, instances: [pod()], current: 1, fault });
  await stage.reconcile();
  const degraded = stage.agent?.status?.conditions?.find(({ type }) => type === 'Degraded');
  assert.deepEqual(
    [stage.ready(), degraded?.reason, degraded?.message],
    ['Ready', fault.reason, fault.message],
  );
});

test('a pod that the kubelet starts again and again is given up after the fifth restart', async () => {
  const stage = createStage(makeAgent());
  stage.facts = onCluster;
  const starts: boolean[] = [];
  for (let restarts = 0; restarts <= 6; restarts += 1) {
    const lastExit = { code: 1, signal: null, at: noon + restarts };
    stage.answer = ({ specHash }) =>
      makeObserved({ specHash, phase: 'Starting', instances: [pod({ ready: false, restarts, lastExit })] });
    await stage.reconcile();
    await stage.reconcile();
    starts.push(stage.ensured.at(-1)?.start === true);
  }
  assert.deepEqual(starts, [true, true, true, true, true, true, false]);
  assert.deepEqual([stage.ready(), stage.agent?.status?.restarts], ['CrashLoop', 6]);
});

test('a controller that lacks rights in the namespace says which', async () => {
  const stage = createStage(makeAgent());
  stage.facts = {
    ...onCluster,
    blocked: { reason: 'Forbidden', message: 'kubectl create rolebinding …' },
  };
  await stage.reconcile();
  const ready = stage.agent?.status?.conditions?.find(({ type }) => type === 'Ready');
  assert.deepEqual([ready?.reason, ready?.message], ['Forbidden', 'kubectl create rolebinding …']);
});

test('a controller that starts and may not look, or not yet, leaves calls their way', async () => {
  const earlier = createStage(makeAgent());
  earlier.facts = onCluster;
  earlier.answer = ({ specHash }) => makeObserved({ specHash, instances: [pod()], current: 1 });
  await earlier.reconcile();
  const before = earlier.agent?.status;
  assert.equal(before?.endpoints?.[0]?.ready, true);
  for (const unknown of [
    { blocked: { reason: 'Starting' as const, message: 'The Secrets of the namespace are being read.' } },
    { masterKeys: [] },
  ]) {
    const later = createStage(earlier.agent ?? makeAgent());
    later.facts = { ...onCluster, ...unknown };
    await later.reconcile();
    assert.deepEqual([later.writes, later.ensured, later.agent?.status], [[], [], before]);
  }
  const barred = createStage(earlier.agent ?? makeAgent());
  barred.facts = { ...onCluster, blocked: { reason: 'Forbidden', message: 'kubectl create rolebinding …' } };
  await barred.reconcile();
  const degraded = barred.agent?.status?.conditions?.find(({ type }) => type === 'Degraded');
  assert.deepEqual([degraded?.status, degraded?.reason, barred.ready()], ['True', 'Forbidden', 'Ready']);
  assert.deepEqual(barred.agent?.status?.endpoints, before?.endpoints);
  await barred.reconcile();
  assert.deepEqual(barred.writes, ['status']);
});

test('an outdated agent-server is replaced when nobody uses it, one instance at a time', async () => {
  const stage = createStage(makeAgent({ runtime: { replicas: 2 } }));
  stage.facts = onCluster;
  const instances = [
    pod({ outdated: true }),
    pod({ uid: 'p2', address: '10.0.0.2:7000', ready: true, outdated: true }),
  ];
  stage.answer = ({ specHash }) => makeObserved({ specHash, instances, current: 2 });
  stage.report = makeReport({ instance: 'p2' });
  await stage.reconcile();
  await stage.reconcile();
  assert.equal(stage.ensured.at(-1)?.upgrade, undefined, 'it is in use');
  stage.report = makeReport({ instance: 'p2', idle: true });
  await stage.reconcile();
  assert.deepEqual(stage.ensured.at(-1)?.upgrade, ['p2']);
});

test('an Agent that is suspended while its agent-server is replaced lets others be replaced', async () => {
  const stage = createStage(makeAgent());
  stage.facts = onCluster;
  const instances = [pod({ outdated: true })];
  stage.answer = ({ specHash }) => makeObserved({ specHash, instances, current: 1 });
  stage.report = makeReport({ instance: 'p1', idle: true });
  await stage.reconcile();
  await stage.reconcile();
  assert.deepEqual(stage.ensured.at(-1)?.upgrade, ['p1']);
  assert.equal(stage.upgrades.admit('another'), false);
  stage.agent = makeAgent({ runtime: { suspend: true } });
  await stage.reconcile();
  assert.equal(stage.upgrades.admit('another'), true);
});
