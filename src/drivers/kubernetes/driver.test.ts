import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '#api/cluster-kinds.ts';
import { agentUidLabel, managedByLabel } from '#api/labels.ts';
import type { KubeObject, Resource, Secret } from '#api/meta.ts';
import { silentLog } from '#kit/log.ts';
import type { Client } from '#kube/client.ts';
import { ApiError } from '#kube/errors.ts';
import { keyOf } from '#kube/key.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { Workload } from '../workload.ts';
import { createKubernetesDriver } from './driver.ts';
import { childLabels } from './names.ts';
import type { ObjectSource } from './source.ts';
import { podOf, settings, workloadOf } from './testing.ts';

/** An API that lists some pods, refuses what a test says and notes every write. The real one is met in test/cluster. */
function createStage(pods: readonly Pod[] = [], secrets: readonly Secret[] = []) {
  const stage = { writes: [] as string[], refuse: (_write: string): Error | undefined => undefined };
  const note = (verb: string, { kind, metadata }: KubeObject, detail = '') => {
    const name = kind === 'Pod' ? metadata.name.replace(/-[a-z0-9]{5}$/, '') : metadata.name;
    const write = `${verb} ${kind}/${name}${detail}`;
    stage.writes.push(write);
    const refusal = stage.refuse(write);
    if (refusal !== undefined) throw refusal;
  };
  const client = {
    list: async (resource: Resource) => ({
      items: resource.plural === 'pods' ? structuredClone(pods) : [],
      metadata: { resourceVersion: '1' },
    }),
    watch: async (_resource: Resource, { signal }: { signal: AbortSignal }) => untilAborted(signal),
    async create(_resource: Resource, object: KubeObject) {
      note('create', object);
      return object;
    },
    async apply(_resource: Resource, object: KubeObject, { force }: { force: boolean }) {
      note('apply', object, force ? ' by force' : '');
      return object;
    },
    async delete({ kind }: Resource, { namespace, name }: { namespace: string; name: string }) {
      note('delete', { apiVersion: 'v1', kind, metadata: { namespace, name } });
    },
  } as unknown as Client;
  const clock = createFakeClock();
  const driver = createKubernetesDriver({
    client,
    settings: { ...settings, accessMode: 'ReadWriteOnce' },
    secrets: sourceOf(secrets),
    configMaps: sourceOf([]),
    clock,
    random: { fraction: () => 0.5, bytes: (size) => Buffer.alloc(size), uuid: () => 'u' },
    log: silentLog,
  });
  return { stage, clock, driver };
}

async function* untilAborted(signal: AbortSignal): AsyncGenerator<never> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

function sourceOf<T extends KubeObject>(objects: readonly T[]): ObjectSource<T> {
  const known = new Map(objects.map((object) => [JSON.stringify(keyOf(object)), object]));
  return {
    get: (key) => known.get(JSON.stringify(keyOf({ metadata: key } as KubeObject))),
    isSynced: () => true,
    observe: (object) => void known.set(JSON.stringify(keyOf(object)), object),
    subscribe: () => () => undefined,
  };
}

const secretVolume = (secretName: string): Partial<Workload> => ({
  podTemplate: { spec: { volumes: [{ name: 'extra', secret: { secretName } }] } },
});

function secretOf(name: string, labels: Record<string, string> = {}): Secret {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default', labels } };
}

test('a child that somebody else made is left alone, also one that is not followed', async () => {
  const { stage, driver } = createStage();
  stage.refuse = (write) =>
    write === 'apply NetworkPolicy/demo-agent'
      ? new ApiError({ status: 409, message: 'conflict with "kubectl": .spec.ingress' })
      : undefined;
  const seen = await driver.ensure(workloadOf(), { start: true });
  assert.equal(seen.fault?.reason, 'Invalid');
  assert.match(seen.fault?.message ?? '', /NetworkPolicy "demo-agent" is there and not the controller's/);
  assert.deepEqual(stage.writes.sort(), ['apply NetworkPolicy/demo-agent', 'apply Secret/demo-agent']);
  await driver.close();
});

for (const [what, secrets, problem] of [
  ['is there', [secretOf('other-agent', { [managedByLabel]: 'ploinky' })], /own and not for agents/],
  ['will be there', [], /is not there, and the name is one that the controller gives/],
] as const) {
  test(`no pod is made that would see another agent's keys when its Secret ${what}`, async () => {
    const { stage, driver } = createStage([], secrets);
    const seen = await driver.ensure(workloadOf(secretVolume('other-agent')), { start: true });
    assert.match(seen.fault?.message ?? '', problem);
    assert.deepEqual(stage.writes, []);
    await driver.close();
  });
}

test('a Secret of somebody is for agents whatever its name, and one that comes later too', async () => {
  for (const [name, secrets] of [
    ['login-agent', [secretOf('login-agent')]],
    ['token', []],
  ] as const) {
    const { stage, driver } = createStage([], secrets);
    await driver.ensure(workloadOf(secretVolume(name)), { start: true });
    assert.ok(stage.writes.includes('create Pod/demo-0'), name);
    await driver.close();
  }
});

test('what serves goes on when the new spec cannot be a pod, and goes once it can', async () => {
  const base = workloadOf({ specHash: 'B', storage: { size: '1Gi', retain: true } });
  const labels = { ...childLabels(base), 'ploinky.dev/slot': '0', [agentUidLabel]: base.id.uid };
  const { stage, clock, driver } = createStage([podOf({}, { labels, resourceVersion: '1' })]);
  const wrong = { ...base, code: { type: 'path' as const, path: '/x', writable: false } };
  for (let round = 0; round < 2; round += 1) {
    const seen = await driver.ensure(wrong, { start: true });
    assert.equal(seen.fault?.reason, 'CodeUnavailable');
    assert.equal(seen.instances[0]?.terminating, false);
    await clock.advance(1_000);
  }
  assert.ok(!stage.writes.some((write) => write.startsWith('delete')));
  const seen = await driver.ensure(base, { start: true });
  assert.equal(seen.instances[0]?.terminating, true);
  await clock.advance(1_000);
  await driver.ensure(base, { start: true });
  assert.ok(stage.writes.includes('delete Pod/demo-0'));
  await driver.close();
});

test('a claim of somebody else is used as it is; the next Agent of the name looks again', async () => {
  const { stage, driver } = createStage();
  const workload = workloadOf({ storage: { size: '1Gi', retain: true } });
  const claim = 'create PersistentVolumeClaim/demo-workspace-0';
  const asked = () => stage.writes.filter((write) => write === claim).length;
  stage.refuse = (write) =>
    write === claim ? new ApiError({ status: 409, reason: 'AlreadyExists', message: 'is there' }) : undefined;
  for (let round = 0; round < 2; round += 1) await driver.ensure(workload, { start: true });
  assert.equal(asked(), 1);
  assert.ok(stage.writes.includes('create Pod/demo-0'));
  driver.forget?.(workload.id);
  await driver.ensure({ ...workload, id: { ...workload.id, uid: 'next' } }, { start: true });
  assert.equal(asked(), 2);
  await driver.close();
});
