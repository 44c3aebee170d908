import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '#api/cluster-kinds.ts';
import { agentUidLabel, managedByLabel } from '#api/labels.ts';
import type { ConfigMap, KubeObject, Resource, Secret } from '#api/meta.ts';
import { silentLog } from '#kit/log.ts';
import type { CacheEvent } from '#kube/cache.ts';
import type { Client } from '#kube/client.ts';
import { ApiError } from '#kube/errors.ts';
import { keyOf } from '#kube/key.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { Workload } from '../workload.ts';
import { createKubernetesDriver } from './driver.ts';
import { childLabels, codeConfigMapName } from './names.ts';
import { renderChildren } from './render/children.ts';
import type { ObjectSource } from './source.ts';
import { podOf, settings, workloadOf } from './testing.ts';

/** An API that lists some pods, refuses what a test says and notes every write. The real one is met in test/cluster. */
function createStage(
  pods: readonly Pod[] = [],
  secrets: readonly Secret[] = [],
  configMaps: readonly ConfigMap[] = [],
) {
  const maps = sourceOf<ConfigMap>(configMaps);
  const stage = {
    maps,
    writes: [] as string[],
    refuse: (_write: string): Error | undefined => undefined,
  };
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
    configMaps: maps,
    clock,
    random: { fraction: () => 0.5, bytes: (size) => Buffer.alloc(size), uuid: () => 'u' },
    log: silentLog,
  });
  return { stage, clock, driver };
}

async function* untilAborted(signal: AbortSignal): AsyncGenerator<never> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

/** What the API holds, as far as it was heard of: an object that was deleted is there until `hearEnd`. */
function sourceOf<T extends KubeObject>(objects: readonly T[]) {
  const text = (object: { metadata: { name: string } }) => JSON.stringify(keyOf(object as KubeObject));
  const known = new Map(objects.map((object) => [text(object), object]));
  const handlers = new Set<(event: CacheEvent<T>) => void>();
  const tell = (event: CacheEvent<T>) => {
    for (const handler of handlers) handler(event);
  };
  return {
    get: (key) => known.get(text({ metadata: key })),
    isSynced: () => true,
    observe(object) {
      const old = known.get(text(object));
      known.set(text(object), object);
      tell(old === undefined ? { type: 'added', object } : { type: 'updated', object, old });
    },
    subscribe(handler) {
      handlers.add(handler);
      for (const object of known.values()) handler({ type: 'added', object });
      return () => handlers.delete(handler);
    },
    hearEnd(object: T) {
      known.delete(text(object));
      tell({ type: 'deleted', object });
    },
  } satisfies ObjectSource<T> & { hearEnd(object: T): void };
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

const inline = (text: string): Workload['code'] => ({ type: 'inline', files: { 'a.sh': text } });
const podLabelsOf = (workload: Workload) => ({ ...childLabels(workload), 'ploinky.dev/slot': '0' });

/** A pod that runs with code from a ConfigMap, made for `specHash`. */
function podWith(workload: Workload, specHash: string, map: string): Pod {
  const annotations = { 'ploinky.dev/spec-hash': specHash };
  const metadata = { name: `demo-0-${specHash}`, uid: specHash, annotations, resourceVersion: '1' };
  const pod = podOf({}, { ...metadata, labels: podLabelsOf(workload) });
  return {
    ...pod,
    spec: { containers: [], volumes: [{ name: 'ploinky-code', configMap: { name: map } }] },
  };
}

function mapOf(workload: Workload, name: string): ConfigMap {
  const metadata = { name, namespace: 'default', uid: `uid of ${name}`, labels: childLabels(workload) };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'a.sh': 'old' } };
}

test('each content of inline code has a ConfigMap of its own, and one that no pod has any more goes', async () => {
  const workload = workloadOf({ specHash: 'B', code: inline('two') });
  const wanted = codeConfigMapName('demo', { 'a.sh': 'two' });
  const running = mapOf(workload, 'demo-code-00000000000a');
  const unused = mapOf(workload, 'demo-code-00000000000b');
  const foreign = mapOf(workload, 'demo-settings');
  const pods = [podWith(workload, 'A', running.metadata.name)];
  const { stage, driver } = createStage(pods, [], [running, unused, foreign]);
  await driver.ensure(workload, { start: true });
  assert.ok(stage.writes.includes(`apply ConfigMap/${wanted}`));
  const ends = () => stage.writes.filter((write) => write.startsWith('delete ConfigMap'));
  assert.deepEqual(ends(), [`delete ConfigMap/${unused.metadata.name}`], 'not that of the pod that serves');
  const count = stage.writes.length;
  await driver.ensure(workload, { start: true });
  assert.equal(stage.writes.length, count, 'the second reconcile writes nothing');
  await driver.close();
});

test('the one ConfigMap of an earlier version stays until its pods are replaced, which is no reason to do so', async () => {
  const workload = workloadOf({ specHash: 'A', code: inline('one') });
  const earlier = mapOf(workload, 'demo-code');
  const pods = [podWith(workload, 'A', 'demo-code')];
  const { stage, driver } = createStage(pods, [], [earlier]);
  for (let round = 0; round < 2; round += 1) await driver.ensure(workload, { start: true });
  assert.deepEqual(stage.writes.sort(), [
    `apply ConfigMap/${codeConfigMapName('demo', { 'a.sh': 'one' })}`,
    'apply NetworkPolicy/demo-agent',
    'apply Secret/demo-agent',
  ]);
  await driver.close();
});

test('code that is wanted again is used while it is there, and written again when it is going', async () => {
  const one = workloadOf({ specHash: 'A', code: inline('one') });
  const two = workloadOf({ specHash: 'B', code: inline('two') });
  const { codeConfigMap } = renderChildren(one, settings);
  assert.ok(codeConfigMap);
  const { name } = codeConfigMap.metadata;
  const made = { ...codeConfigMap, metadata: { ...codeConfigMap.metadata, uid: 'made' } };
  for (const [pods, writes] of [
    [[podWith(one, 'A', name)], []],
    // The API has deleted it, and its watch has not said so yet.
    [[], [`delete ConfigMap/${name}`, `apply ConfigMap/${name}`]],
  ] as const) {
    const { stage, driver } = createStage(pods, [], [made]);
    for (const workload of [two, two, one, one]) await driver.ensure(workload, { start: true });
    assert.deepEqual(
      stage.writes.filter((write) => write.endsWith(`ConfigMap/${name}`)),
      writes,
    );
    await driver.close();
  }
});

test('certificates that are none are refused with the field, before a pod is made', async () => {
  const ca = { configMapKeyRef: { name: 'authority', key: 'ca.crt' } };
  const workload = workloadOf({ code: { type: 'git', url: 'https://git.test/a', ca }, fetchToken: 't' });
  const metadata = { name: 'authority', namespace: 'default' };
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  for (const [text, says] of [
    ['not PEM', /spec\.code\.git\.ca: key "ca\.crt" of ConfigMap "authority" has no certificate in it\. Put/],
    [broken, /its certificate 1 cannot be read/],
  ] as const) {
    const map: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'ca.crt': text } };
    const { stage, driver } = createStage([], [], [map]);
    const seen = await driver.ensure(workload, { start: true });
    assert.equal(seen.fault?.reason, 'CodeUnavailable');
    assert.match(seen.fault?.message ?? '', says);
    assert.deepEqual(stage.writes, []);
    await driver.close();
  }
});

test('all of them go with the workload', async () => {
  const workload = workloadOf({ code: inline('one') });
  const maps = ['demo-code', 'demo-code-00000000000a'].map((name) => mapOf(workload, name));
  const { stage, driver } = createStage([], [], maps);
  assert.deepEqual(await driver.remove(workload.id, { retain: false }), { done: false });
  assert.deepEqual(
    stage.writes,
    maps.map(({ metadata }) => `delete ConfigMap/${metadata.name}`),
  );
  for (const map of maps) stage.maps.hearEnd(map);
  assert.deepEqual(await driver.remove(workload.id, { retain: false }), { done: true });
  await driver.close();
});
