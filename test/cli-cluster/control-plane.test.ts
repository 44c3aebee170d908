import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import type { CoreEvent, Lease } from '#api/core-kinds.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { eventResource, leaseResource, namespaceResource } from '#api/resources.ts';
import { definitionResource } from '#cli/cluster/objects.ts';
import { skip, startApi, type TestApi } from './api.ts';
import type { Ploinky } from './ploinky.ts';

// What the verbs say of a cluster's objects, as far as that needs no node.

let api: TestApi;
let ploinky: Ploinky;

before(async () => {
  const started = await startApi();
  if (started === undefined) return;
  api = started;
  ploinky = started.ploinky;
});

after(() => api?.close());

const agent = (name: string) => `apiVersion: ploinky.dev/v1alpha1
kind: Agent
metadata: {name: ${name}}
spec: {mcp: {tools: [{name: say, command: echo hi}]}}
`;

describe('A cluster without Ploinky', { skip, timeout: 120_000 }, () => {
  it('is told by each verb, with how to install it', async () => {
    for (const args of [
      ['get', 'agents'],
      ['status'],
      ['logs', 'hello'],
      ['scale', 'hello', '--replicas', '2'],
    ]) {
      const outcome = await ploinky.run(...args);
      assert.equal(outcome.code, 3, args.join(' '));
      assert.match(
        outcome.stderr,
        /not installed in the cluster of context "real".*\n {2}Install it: ploinky install --context real/,
      );
    }
  });

  it('fails the doctor with what is missing', async () => {
    const outcome = await ploinky.run('doctor', '-o', 'json');
    assert.equal(outcome.code, 1);
    const levels = (JSON.parse(outcome.stdout) as { name: string; level: string; remedy?: string }[]).map(
      ({ name, level, remedy }) => {
        assert.equal(remedy !== undefined, level !== 'ok', name);
        return `${name} ${level}`;
      },
    );
    assert.deepEqual(levels, [
      ...[
        'API ok',
        'CRDs fail',
        'Controller fail',
        'Routers fail',
        'Rights ok',
        'Storage warn',
        'Agents fail',
      ],
    ]);
  });
});

describe('Objects of a cluster', { skip, timeout: 240_000 }, () => {
  before(async () => {
    await api.define();
    await api.client.create(namespaceResource, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'team' },
    });
    await writeFile(join(api.folder, 'one.yaml'), agent('one'));
    await writeFile(join(api.folder, 'two.yaml'), agent('two'));
  });

  it('are made, changed and left alone by apply, in each form of output', async () => {
    const file = join(api.folder, 'one.yaml');
    assert.equal(
      await ploinky.must('apply', '-f', file, '--dry-run'),
      'agent.ploinky.dev/one created (dry run)\n',
    );
    assert.equal(await ploinky.must('apply', '-f', file), 'agent.ploinky.dev/one created\n');
    assert.equal(await ploinky.must('apply', '-f', file), 'agent.ploinky.dev/one unchanged\n');
    assert.equal(await ploinky.must('apply', '-f', file, '-o', 'name'), 'agent.ploinky.dev/one\n');
    assert.equal(JSON.parse(await ploinky.must('apply', '-f', file, '-o', 'json')).metadata.name, 'one');
    assert.equal(
      parse(await ploinky.must('-n', 'team', 'apply', '-f', file, '-o', 'yaml')).metadata.namespace,
      'team',
    );
  });

  it('are shown of one namespace, the context’s without -n, or of all', async () => {
    assert.equal(await ploinky.must('get', 'ag', '-o', 'name'), 'agent.ploinky.dev/one\n');
    const all = await ploinky.must('get', 'ag', '-A');
    assert.deepEqual(
      all.split('\n').map((line) => line.split(/ {2,}/)[0]),
      ['NAMESPACE', 'default', 'team', ''],
    );
    assert.match(await ploinky.must('get', 'ag', '-o', 'wide'), /^NAME +READY .*REASON\n/);
    assert.equal(parse(await ploinky.must('get', 'ag', 'one', '-o', 'yaml')).kind, 'Agent');
  });

  it('are refused with the field at fault, and named when they are missing', async () => {
    await writeFile(
      join(api.folder, 'wrong.yaml'),
      agent('wrong').replace('command: echo hi', 'comand: echo hi'),
    );
    const refused = await ploinky.run('apply', '-f', join(api.folder, 'wrong.yaml'));
    assert.equal(refused.code, 5);
    assert.match(refused.stderr, /comand/);
    const missing = await ploinky.run('describe', 'agent', 'nope');
    assert.equal(missing.code, 4);
    assert.match(missing.stderr, /agents\.ploinky\.dev "nope" not found/);
  });

  it('are scaled by the scale subresource and restarted by an annotation', async () => {
    assert.equal(
      await ploinky.must('scale', 'one', '--replicas', '3'),
      'agent.ploinky.dev/one scaled to 3\n',
    );
    assert.equal(await ploinky.must('restart', 'one', '-o', 'name'), 'agent.ploinky.dev/one\n');
    const shown = JSON.parse(await ploinky.must('get', 'ag', 'one', '-o', 'json'));
    assert.equal(shown.spec.runtime.replicas, 3);
    assert.match(shown.metadata.annotations['ploinky.dev/restart'], /^\d{4}-/);
    const outcome = await ploinky.run('scale', 'one', '--replicas', 'many');
    assert.equal(outcome.code, 2);
  });

  it('have events, the oldest first, those of an agent’s pods among them', async () => {
    await api.client.create(
      eventResource,
      event('a', { kind: 'Pod', name: 'one-0-abcde', at: '2026-01-01T00:00:02Z' }),
    );
    await api.client.create(
      eventResource,
      event('b', { kind: 'Agent', name: 'one', at: '2026-01-01T00:00:01Z' }),
    );
    await api.client.create(
      eventResource,
      event('c', { kind: 'Pod', name: 'one-more-0-abcde', at: '2026-01-01T00:00:03Z' }),
    );
    const names = async (...args: string[]) => {
      const list = JSON.parse(await ploinky.must('events', ...args, '-o', 'json')) as { items: KubeObject[] };
      return list.items.map(({ metadata }) => metadata.name);
    };
    assert.deepEqual(await names(), ['b', 'a', 'c']);
    assert.deepEqual(await names('one'), ['b', 'a']);
    assert.match(await ploinky.must('describe', 'agent', 'one'), /Events:\n.*\n {2}Normal +Tried/);
  });

  it('have no logs while no container has begun', async () => {
    const outcome = await ploinky.run('logs', 'one');
    assert.equal(outcome.code, 0);
    assert.match(
      outcome.stderr,
      /There is no pod\. See `ploinky describe agent one` or `kubectl -n \S+ get deployments,pods,events`/,
    );
    assert.equal((await ploinky.run('logs', 'nope')).code, 4);
  });

  it('are gone after delete', async () => {
    const file = join(api.folder, 'two.yaml');
    await ploinky.must('apply', '-f', file);
    assert.equal(await ploinky.must('delete', '-f', file), 'agent.ploinky.dev/two deleted\n');
    assert.equal((await ploinky.run('get', 'ag', 'two')).code, 4);
  });

  it('are told in the status with exit code 3 while there is no router', async () => {
    const outcome = await ploinky.run('status');
    assert.equal(outcome.code, 3);
    assert.match(outcome.stdout, /^real \(https:.*\), namespace default\n- Router: not installed\n\nAGENT/);
    const data = parse((await ploinky.run('status', '-A', '-o', 'yaml')).stdout);
    assert.deepEqual(
      data.agents.map(({ namespace, name }: Record<string, string>) => `${namespace}/${name}`),
      ['default/one', 'team/one'],
    );
    assert.equal((await ploinky.run('status', '-o', 'name')).stdout, 'agent.ploinky.dev/one\n');
    assert.equal((await ploinky.run('tools')).code, 3);
  });
});

describe('The doctor', { skip, timeout: 120_000 }, () => {
  it('sees a leader that is alive, one that is not, and CRDs of another version', async () => {
    const home = 'home';
    await api.client.create(namespaceResource, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: home },
    });
    const account = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'default', namespace: home },
    };
    await api.client.create(core('ServiceAccount', 'serviceaccounts'), account);
    await api.client.create(core('Pod', 'pods'), routerPod(home));
    await api.client.create(leaseResource, lease(home, 'ploinky-controller', Date.now() - 60_000));
    await api.client.create(leaseResource, lease(home, 'ploinky-router-a', Date.now()));
    assert.match(
      await told('Controller'),
      /^fail its leader ploinky-controller has given no sign of life for 6\ds$/,
    );
    assert.match(await told('Routers'), /^fail 0 of 1 pods ready in home, 1 with a sign of life$/);
    await api.client.delete(leaseResource, { namespace: home, name: 'ploinky-controller' });
    await api.client.create(leaseResource, lease(home, 'ploinky-controller', Date.now()));
    assert.match(await told('Controller'), /^ok led by ploinky-controller, a sign of life \ds ago$/);
    assert.match(await told('CRDs'), /^ok .*as this version has them$/);
    const path = '/spec/versions/0/schema/openAPIV3Schema/description';
    const patch = {
      type: 'json' as const,
      body: [{ op: 'replace' as const, path, value: 'Of another version.' }],
    };
    await api.client.patch(definitionResource, { namespace: '', name: 'tasks.ploinky.dev' }, patch);
    assert.match(await told('CRDs'), /^warn of another version than this program: tasks\.ploinky\.dev$/);
  });

  async function told(wanted: string): Promise<string> {
    const { stdout } = await ploinky.run('doctor', '-o', 'json');
    const results = JSON.parse(stdout) as { name: string; level: string; detail: string }[];
    const found = results.find(({ name }) => name === wanted);
    return `${found?.level} ${found?.detail}`;
  }
});

function core(kind: string, plural: string): Resource {
  return { group: '', version: 'v1', kind, plural, namespaced: true };
}

function event(name: string, about: { kind: string; name: string; at: string }): CoreEvent {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: 'default' },
    involvedObject: { kind: about.kind, name: about.name, namespace: 'default' },
    reason: 'Tried',
    message: 'It was tried.',
    type: 'Normal',
    firstTimestamp: about.at,
    lastTimestamp: about.at,
  };
}

function lease(namespace: string, name: string, renewed: number): Lease {
  const renewTime = new Date(renewed).toISOString().replace('Z', '000Z');
  const spec = { holderIdentity: name, leaseDurationSeconds: 15, renewTime };
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace }, spec };
}

function routerPod(namespace: string): KubeObject {
  const labels = { 'app.kubernetes.io/name': 'ploinky', 'app.kubernetes.io/component': 'router' };
  const spec = { automountServiceAccountToken: false, containers: [{ name: 'router', image: 'none' }] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'router', namespace, labels },
    spec,
  } as KubeObject;
}
