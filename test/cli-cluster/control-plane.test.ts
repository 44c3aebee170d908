import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import type { CoreEvent, Lease } from '#api/core-kinds.ts';
import { customResourceDefinitions } from '#api/crd.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { eventResource, leaseResource, namespaceResource, resources } from '#api/resources.ts';
import { type Definition, definitionResource } from '#cli/cluster/objects.ts';
import { systemClock } from '#kit/clock.ts';
import { type Client, createClient } from '#kube/client.ts';
import { kubeconfigEndpoint } from '#kube/kubeconfig.ts';
import { kubeBinary } from '#test/cluster/kube/build.ts';
import { type ControlPlane, startControlPlane } from '#test/cluster/kube/control-plane.ts';
import { checkout, createWorkspace, runProgram } from '#test/fixtures/workspace/workspace.ts';
import { type Ploinky, ploinkyOf } from './ploinky.ts';

// All that needs no node: a real kube-apiserver, the real command line.

const binary = await kubeBinary((line) => console.error(`# ${line}`));
const skip = typeof binary === 'string' ? false : binary.missing;

let plane: ControlPlane;
let ploinky: Ploinky;
let client: Client;
let folder: string;

const agent = (name: string) => `apiVersion: ploinky.dev/v1alpha1
kind: Agent
metadata: {name: ${name}}
spec: {mcp: {tools: [{name: say, command: echo hi}]}}
`;

async function define(): Promise<void> {
  const definitions = customResourceDefinitions() as unknown as Definition[];
  for (const definition of definitions) await client.create(definitionResource, definition);
  for (const resource of resources.slice(0, 3)) await untilServed(resource);
}

async function untilServed(resource: Resource): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await client.list(resource);
      return;
    } catch (error) {
      if (tries === 200) throw error;
      await systemClock.sleep(50);
    }
  }
}

before(async () => {
  if (typeof binary !== 'string') return;
  plane = await startControlPlane(binary);
  ploinky = ploinkyOf(plane.kubeconfig);
  const endpoint = await kubeconfigEndpoint({ file: plane.kubeconfig, clock: systemClock });
  client = createClient({ endpoint, clock: systemClock });
  folder = await mkdtemp(join(tmpdir(), 'cli-cluster-'));
});

after(async () => {
  await client?.close();
  await plane?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

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

describe('Contexts and workspaces', { skip, timeout: 120_000 }, () => {
  const wrong: [string, string[], number, RegExp][] = [
    [
      'a workspace and a context',
      ['-C', '.', '--context', 'real', 'get', 'ag'],
      2,
      /--workspace and --context, --kubeconfig exclude each other/,
    ],
    ['a context that is not there', ['--context', 'nope', 'get', 'ag'], 1, /has no context "nope"/],
    [
      'a verb of workspaces',
      ['up'],
      2,
      /`up` is for the workspaces of this machine\n {2}Install Ploinky into a cluster with `ploinky install`/,
    ],
    ['a URL that is none', ['--router', 'nope', 'tools'], 2, /"nope" is not the URL of a router/],
    [
      'a process that a cluster has not',
      ['logs', '--process', 'watchdog'],
      2,
      /Use one of controller, router, egress/,
    ],
  ];
  for (const [name, args, code, message] of wrong) {
    it(`answers ${name} with exit code ${code} and what to do`, async () => {
      const outcome = await ploinky.run(...args);
      assert.equal(outcome.code, code, outcome.stderr);
      assert.match(outcome.stderr, message);
    });
  }

  it('answers a cluster that is away with exit code 3', async () => {
    const file = join(folder, 'away');
    const cluster = { server: 'https://127.0.0.1:1' };
    await writeFile(
      file,
      JSON.stringify({
        clusters: [{ name: 'away', cluster }],
        users: [{ name: 'me', user: {} }],
        contexts: [{ name: 'away', context: { cluster: 'away', user: 'me' } }],
        'current-context': 'away',
      }),
    );
    const outcome = await ploinkyOf(file).run('get', 'agents');
    assert.equal(outcome.code, 3);
    assert.match(outcome.stderr, /cluster of context "away" at https:\/\/127\.0\.0\.1:1 does not answer/);
  });

  it('takes the workspace without a word of a cluster, whatever KUBECONFIG says', async () => {
    const env = { ...process.env, KUBECONFIG: plane.kubeconfig };
    const workspace = await createWorkspace({ examples: [] });
    try {
      const outcome = await runProgram(
        join(checkout, 'bin/ploinky'),
        ['status', '-C', workspace.paths.root],
        env,
      );
      assert.match(outcome.stdout, /- Router: not running/);
    } finally {
      await workspace.remove();
    }
  });
});

describe('Objects of a cluster', { skip, timeout: 240_000 }, () => {
  before(async () => {
    await define();
    await client.create(namespaceResource, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'team' },
    });
    await writeFile(join(folder, 'one.yaml'), agent('one'));
    await writeFile(join(folder, 'two.yaml'), agent('two'));
  });

  it('are made, changed and left alone by apply, in each form of output', async () => {
    const file = join(folder, 'one.yaml');
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
      join(folder, 'wrong.yaml'),
      agent('wrong').replace('command: echo hi', 'comand: echo hi'),
    );
    const refused = await ploinky.run('apply', '-f', join(folder, 'wrong.yaml'));
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
    await client.create(
      eventResource,
      event('a', { kind: 'Pod', name: 'one-0-abcde', at: '2026-01-01T00:00:02Z' }),
    );
    await client.create(
      eventResource,
      event('b', { kind: 'Agent', name: 'one', at: '2026-01-01T00:00:01Z' }),
    );
    await client.create(
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
    assert.match(outcome.stderr, /No container has begun/);
    assert.equal((await ploinky.run('logs', 'nope')).code, 4);
  });

  it('are gone after delete', async () => {
    const file = join(folder, 'two.yaml');
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
    await client.create(namespaceResource, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: home } });
    const account = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'default', namespace: home },
    };
    await client.create(core('ServiceAccount', 'serviceaccounts'), account);
    await client.create(core('Pod', 'pods'), routerPod(home));
    await client.create(leaseResource, lease(home, 'ploinky-controller', Date.now() - 60_000));
    await client.create(leaseResource, lease(home, 'ploinky-router-a', Date.now()));
    assert.match(
      await told('Controller'),
      /^fail its leader ploinky-controller has given no sign of life for 6\ds$/,
    );
    assert.match(await told('Routers'), /^fail 0 of 1 pods ready in home, 1 with a sign of life$/);
    await client.delete(leaseResource, { namespace: home, name: 'ploinky-controller' });
    await client.create(leaseResource, lease(home, 'ploinky-controller', Date.now()));
    assert.match(await told('Controller'), /^ok led by ploinky-controller, a sign of life \ds ago$/);
    assert.match(await told('CRDs'), /^ok .*as this version has them$/);
    const path = '/spec/versions/0/schema/openAPIV3Schema/description';
    const patch = {
      type: 'json' as const,
      body: [{ op: 'replace' as const, path, value: 'Of another version.' }],
    };
    await client.patch(definitionResource, { namespace: '', name: 'tasks.ploinky.dev' }, patch);
    assert.match(await told('CRDs'), /^warn of another version than this program: tasks\.ploinky\.dev$/);
  });

  async function told(wanted: string): Promise<string> {
    const { stdout } = await ploinky.run('doctor', '-o', 'json');
    const results = JSON.parse(stdout) as { name: string; level: string; detail: string }[];
    const found = results.find(({ name }) => name === wanted);
    return `${found?.level} ${found?.detail}`;
  }
});

describe('The plugin of kubectl', { skip, timeout: 120_000 }, () => {
  it('means the current context, and tells its own name', async () => {
    const bin = join(folder, 'bin');
    await mkdir(bin);
    await symlink(String(binary), join(bin, 'kubectl'));
    await symlink(join(checkout, 'bin/ploinky'), join(bin, 'kubectl-ploinky'));
    const env = {
      ...process.env,
      NO_COLOR: '1',
      KUBECONFIG: plane.kubeconfig,
      PATH: `${bin}${delimiter}${process.env['PATH']}`,
    };
    const kubectl = (...args: string[]) => runProgram(join(bin, 'kubectl'), ['ploinky', ...args], env);
    assert.equal((await kubectl('get', 'ag', '-o', 'name')).stdout, 'agent.ploinky.dev/one\n');
    assert.match((await kubectl('--help')).stdout, /^Usage: kubectl ploinky \[options\]/);
    assert.match((await kubectl('get', '--help')).stdout, /^Usage: kubectl ploinky get/);
    assert.match((await kubectl('status', '-C', folder)).stdout, /- Router: not running/);
  });

  it('completes verbs and flags for kubectl', async () => {
    const script = join(folder, 'kubectl_complete-ploinky');
    await writeFile(script, await ploinky.must('completion', 'kubectl'));
    await chmod(script, 0o755);
    const complete = async (...words: string[]) =>
      (await runProgram(script, words)).stdout.trim().split('\n');
    assert.deepEqual(await complete('st'), ['status', ':0']);
    assert.deepEqual(await complete('--context', 'prod', 'get', '--outp'), ['--output', ':0']);
    assert.ok((await complete('')).includes('install'));
  });
});

describe('install, upgrade and uninstall', { skip, timeout: 120_000 }, () => {
  /** Writes a `helm` that tells how it was called, and returns the PATH with it. */
  async function standInHelm(code: number): Promise<string> {
    const bin = join(folder, `helm-${code}`);
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, 'helm'), `#!/bin/sh\nprintf '%s\\n' "$@"\nexit ${code}\n`, { mode: 0o755 });
    return `${bin}${delimiter}${process.env['PATH']}`;
  }
  const run = (path: string, ...args: string[]) =>
    runProgram(join(checkout, 'bin/ploinky'), args, { ...process.env, NO_COLOR: '1', PATH: path });

  it('run helm with the chart, the cluster and the values that were named', async () => {
    const path = await standInHelm(0);
    const where = ['--context', 'real', '--kubeconfig', plane.kubeconfig];
    const how = [
      '--values',
      'a.yaml',
      '--set',
      'x=1',
      '--set',
      'y=2',
      '--chart',
      '/charts/p',
      '--',
      '--debug',
    ];
    const installed = await run(path, 'install', ...where, ...how);
    assert.equal(installed.code, 0, installed.stderr);
    assert.deepEqual(installed.stdout.trim().split('\n'), [
      ...[
        'install',
        'ploinky',
        '/charts/p',
        '--create-namespace',
        '--values',
        'a.yaml',
        '--set',
        'x=1',
        '--set',
        'y=2',
      ],
      ...['--namespace', 'ploinky-system', '--kubeconfig', plane.kubeconfig, '--kube-context', 'real'],
      ...['--wait', '--timeout', '300s', '--debug'],
    ]);
    const removed = await run(path, 'uninstall', '-n', 'other', '--release', 'mine', '--no-wait');
    assert.deepEqual(removed.stdout.trim().split('\n'), [
      'uninstall',
      'mine',
      '--namespace',
      'other',
      '--timeout',
      '300s',
    ]);
  });

  it('take the chart of this version, and fail as helm does', async () => {
    const upgraded = await run(await standInHelm(3), 'upgrade', '--dry-run');
    assert.equal(upgraded.code, 1);
    assert.match(upgraded.stderr, /helm upgrade ended with 3/);
    assert.deepEqual(upgraded.stdout.split('\n').slice(0, 3), [
      'upgrade',
      'ploinky',
      join(checkout, 'charts/ploinky'),
    ]);
    assert.match(upgraded.stdout, /^--dry-run=server$/m);
  });

  it('say where to get helm when it is missing, and refuse a workspace', async () => {
    const bin = join(folder, 'no-helm');
    await mkdir(bin);
    for (const name of ['sh', 'basename', 'dirname', 'readlink'])
      await symlink(await which(name), join(bin, name));
    const missing = await run(bin, 'install', '--chart', '/charts/p');
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /helm is not on PATH\n {2}Get Helm .* from https:\/\/helm\.sh/);
    const refused = await run(bin, 'install', '-C', folder);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /`install` is for clusters/);
  });
});

function core(kind: string, plural: string): Resource {
  return { group: '', version: 'v1', kind, plural, namespaced: true };
}

async function which(name: string): Promise<string> {
  return (await runProgram('sh', ['-c', `command -v ${name}`])).stdout.trim();
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
