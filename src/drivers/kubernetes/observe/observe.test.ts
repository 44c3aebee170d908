import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContainerState, Pod } from '#api/cluster-kinds.ts';
import { containerOf, noon, podFacts, podOf, workloadOf } from '../testing.ts';
import { type ObserveInput, observe, overdueMs, slowBootMs } from './observe.ts';
import { factsOf } from './pod-facts.ts';

const see = (change: Partial<ObserveInput> = {}) =>
  observe({
    workload: workloadOf(),
    pods: [podFacts()],
    retiring: new Set(),
    fault: undefined,
    commit: undefined,
    serverImage: 'agent:2',
    now: noon,
    ...change,
  });
const ended = { code: 7, signal: null, at: noon };

describe('what is told of pods', () => {
  it('says whose agent-server is an older one', () => {
    const pods = ['agent:1', 'agent:2', undefined].map((serverImage) => podFacts({ serverImage }));
    assert.deepEqual(
      see({ pods }).instances.map(({ outdated }) => outdated),
      [true, undefined, undefined],
    );
  });

  it('is Running with an address, and counts what takes calls', () => {
    const seen = see();
    assert.equal(seen.phase, 'Running');
    assert.equal(seen.current, 1);
    assert.deepEqual(seen.instances, [
      {
        name: 'demo-0-abcde',
        uid: 'p0',
        address: '10.0.0.9:7000',
        terminating: false,
        slot: 0,
        specHash: 'A',
        startedAt: noon,
        ready: true,
      },
    ]);
  });
  it('is terminating and takes no calls once it is to be deleted', () => {
    const { instances, current } = see({ retiring: new Set(['p0']) });
    assert.deepEqual([instances[0]?.terminating, instances[0]?.ready, current], [true, false, 0]);
  });
  it('goes through Absent, Installing, Starting, Running, Stopping and Failed', () => {
    const phase = (...pods: ReturnType<typeof podFacts>[]) => see({ pods }).phase;
    const silent = { serving: false, ready: false };
    assert.equal(phase(), 'Absent');
    assert.equal(phase(podFacts({ ...silent, installing: true })), 'Installing');
    assert.equal(phase(podFacts(silent)), 'Starting');
    assert.equal(phase(podFacts(silent), podFacts()), 'Running');
    assert.equal(phase(podFacts({ ...silent, terminating: true })), 'Stopping');
    assert.equal(phase(podFacts({ ...silent, exit: ended })), 'Failed');
  });
  it('is Failed with the reason when nothing can be made', () => {
    const fault = { reason: 'QuotaExceeded', message: 'exceeded quota' };
    const { phase, reason, message } = see({ pods: [], fault });
    assert.deepEqual([phase, reason, message], ['Failed', 'QuotaExceeded', 'exceeded quota']);
  });
  it('names the old spec as long as anything of it is there', () => {
    const old = podFacts({ specHash: 'B', uid: 'p1' });
    assert.equal(see({ pods: [podFacts(), old] }).specHash, 'B');
    assert.equal(see({ pods: [podFacts(), old] }).current, 1);
    assert.equal(see().specHash, 'A');
  });
  it('tells restarts in place with how the last run ended, and an end for good as one', () => {
    const [restarted] = see({ pods: [podFacts({ restarts: 2, lastExit: ended })] }).instances;
    assert.deepEqual([restarted?.restarts, restarted?.lastExit, restarted?.exit], [2, ended, undefined]);
    const [over] = see({ pods: [podFacts({ lastExit: ended, exit: ended })] }).instances;
    assert.deepEqual([over?.lastExit, over?.exit], [undefined, ended]);
  });
  it('says that a pod which should be gone has a node that does not answer', () => {
    const pods = [podFacts({ terminating: true, ready: false, goneBy: noon })];
    assert.equal(see({ pods, now: noon + overdueMs - 1 }).fault, undefined);
    assert.equal(see({ pods, now: noon + overdueMs }).fault?.reason, 'NodeLost');
  });
  it('says that an agent-server does not come up', () => {
    const pods = [podFacts({ ready: false, serving: false, bootingSince: noon })];
    assert.equal(see({ pods, now: noon + slowBootMs - 1 }).fault, undefined);
    assert.equal(see({ pods, now: noon + slowBootMs }).fault?.reason, 'ProbeFailing');
  });
  it('says that processes cannot be limited only when that was asked for', () => {
    assert.equal(see().limitsEnforced, true);
    const runtime = { ...workloadOf().runtime, resources: { limits: { pids: 64 } } };
    assert.match(see({ workload: workloadOf({ runtime }) }).limitsMessage ?? '', /limits\.pids/);
  });
});

const waiting = (reason: string, message = '') => ({ state: { waiting: { reason, message } }, ready: false });
const end = (exitCode: number, rest: object = {}): ContainerState => ({
  terminated: { exitCode, finishedAt: '2026-01-01T12:00:05Z', ...rest },
});
const crashed = (last: ContainerState, name = 'agent') =>
  podOf({
    phase: 'Pending',
    conditions: [],
    containerStatuses: [
      containerOf({ name, restartCount: 1, lastState: last, ...waiting('CrashLoopBackOff') }),
    ],
  });
const pending = (message: string, reason = 'Unschedulable') =>
  podOf({
    phase: 'Pending',
    containerStatuses: [],
    conditions: [{ type: 'PodScheduled', status: 'False', reason, message }],
  });

const faults: Record<string, [pod: Pod, reason: string, says: RegExp]> = {
  'an image that cannot be pulled': [
    podOf({ containerStatuses: [containerOf(waiting('ImagePullBackOff', 'not found'))] }),
    'ImagePullFailed',
    /container agent.*ImagePullBackOff.*not found/,
  ],
  'a Secret that is not there': [
    podOf({
      containerStatuses: [containerOf(waiting('CreateContainerConfigError', 'secret "x" not found'))],
    }),
    'ContainerConfigError',
    /secret "x" not found/,
  ],
  'a crash loop': [
    crashed(end(3, { message: 'one\ntwo\n' })),
    'BackOff',
    /exit code 3 \(started again once\).*\none\ntwo$/s,
  ],
  'too little memory, on a cluster that does not tell the limit': [
    crashed(end(137, { reason: 'OOMKilled' })),
    'OOMKilled',
    /more memory than its limit \(spec\.runtime\.resources\.limits\.memory\) and was killed/,
  ],
  'too little memory': [
    podOf({
      containerStatuses: [
        containerOf({
          lastState: end(137, { reason: 'OOMKilled' }),
          resources: { limits: { memory: '128Mi' } },
          ...waiting('CrashLoopBackOff'),
        }),
      ],
    }),
    'OOMKilled',
    /its limit \(128Mi, spec\.runtime\.resources\.limits\.memory\)/,
  ],
  'an image for another processor': [
    crashed(end(128, { reason: 'StartError', message: 'exec /Agent/bin/node: exec format error' })),
    'ImageNotSupported',
    /processor/,
  ],
  'a program that is not there': [
    crashed(end(128, { reason: 'StartError', message: 'exec: "x": no such file or directory' })),
    'ContainerConfigError',
    /cannot be started/,
  ],
  'a failed install': [
    crashed(end(1, { message: 'E404' }), 'install'),
    'InstallFailed',
    /exit code 1.*E404/s,
  ],
  'an install that takes too long': [crashed(end(124), 'install'), 'InstallFailed', /time limit/],
  'a failed fetch': [crashed(end(128, { message: 'no such ref' }), 'git'), 'CodeUnavailable', /no such ref/],
  'no node with room': [
    pending('0/3 nodes are available: 3 Insufficient cpu.'),
    'Unschedulable',
    /Insufficient cpu/,
  ],
  'a claim that is not bound': [
    pending('pod has unbound immediate PersistentVolumeClaims'),
    'VolumePending',
    /unbound/,
  ],
  'a class that has no volume left': [
    pending("0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."),
    'VolumePending',
    /available persistent volumes/,
  ],
  'an eviction': [
    podOf({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'The node was low on memory.',
      containerStatuses: [],
    }),
    'Evicted',
    /low on memory/,
  ],
  'a silent node': [
    podOf({
      conditions: [
        { type: 'ContainersReady', status: 'True' },
        { type: 'Ready', status: 'False' },
      ],
    }),
    'NodeLost',
    /does not answer/,
  ],
};

describe('the facts of a pod', () => {
  for (const [name, [pod, reason, says]] of Object.entries(faults)) {
    it(`name ${name}`, () => {
      const { fault } = factsOf(pod);
      assert.equal(fault?.reason, reason, JSON.stringify(fault));
      assert.match(fault?.message ?? '', says);
    });
  }
  it('name nothing while containers are being made, or when they are done', () => {
    assert.equal(factsOf(podOf()).fault, undefined);
    assert.equal(
      factsOf(podOf({ containerStatuses: [containerOf(waiting('ContainerCreating'))] })).fault,
      undefined,
    );
    const setup = [containerOf({ name: 'install', state: end(0), restartCount: 1, lastState: end(1) })];
    assert.equal(factsOf(podOf({ initContainerStatuses: setup })).fault, undefined);
  });
  it('forget an earlier crash once the container is Ready again, not before', () => {
    const back = { restartCount: 1, lastState: end(2) };
    const again = (ready: boolean) =>
      factsOf(podOf({ containerStatuses: [containerOf({ ...back, ready })] })).fault;
    assert.equal(again(false)?.reason, 'BackOff');
    assert.equal(again(true), undefined);
  });
  it('know the last real end of a pod whose time was over', () => {
    const status = containerOf({
      state: end(137, { reason: 'ContainerStatusUnknown' }),
      lastState: end(7),
      restartCount: 2,
    });
    const facts = factsOf(
      podOf({ phase: 'Failed', reason: 'DeadlineExceeded', containerStatuses: [status] }),
    );
    assert.equal(facts.exit?.code, 7);
    assert.equal(facts.serving, false);
    assert.match(facts.fault?.message ?? '', /exit code 7/);
  });
  it('know the agent’s own end from that of the agent-server, which was ended with it', () => {
    const sidecar = containerOf({
      name: 'agent-server',
      state: { terminated: { exitCode: 137, finishedAt: '2026-01-01T12:00:09Z' } },
    });
    const own = containerOf({ state: end(137, { reason: 'ContainerStatusUnknown' }), lastState: end(9) });
    const facts = factsOf(
      podOf({ phase: 'Failed', initContainerStatuses: [sidecar], containerStatuses: [own] }),
    );
    assert.equal(facts.exit?.code, 9);
    assert.match(facts.fault?.message ?? '', /Container agent ended with exit code 9/);
  });
  it('count the restarts of every container, and only a commit as one', () => {
    const git = containerOf({
      name: 'git',
      restartCount: 2,
      state: end(0, { message: `${'a1'.repeat(20)}\n` }),
    });
    const facts = factsOf(
      podOf({ initContainerStatuses: [git], containerStatuses: [containerOf({ restartCount: 1 })] }),
    );
    assert.deepEqual([facts.restarts, facts.commit], [3, 'a1'.repeat(20)]);
    const liar = containerOf({ name: 'git', state: end(0, { message: 'main' }) });
    assert.equal(factsOf(podOf({ initContainerStatuses: [liar] })).commit, undefined);
  });
  it('take what is Ready for serving, whoever says so', () => {
    const facts = factsOf(podOf({ containerStatuses: [] }));
    assert.deepEqual([facts.ready, facts.serving], [true, true]);
  });
  it('have the sidecar for the agent-server where there is one, and IPv6 addresses in brackets', () => {
    const sidecar = containerOf({ name: 'agent-server', started: false });
    const facts = factsOf(podOf({ initContainerStatuses: [sidecar], podIP: 'fd00::9', conditions: [] }));
    assert.equal(facts.serving, false);
    assert.equal(facts.bootingSince, noon + 1000);
    assert.equal(facts.address, '[fd00::9]:7000');
  });
});
