import assert from 'node:assert/strict';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { checkout, createWorkspace, runProgram } from '#test/fixtures/workspace/workspace.ts';
import { kubernetes, skip, startApi, type TestApi } from './api.ts';
import { type Ploinky, ploinkyOf } from './ploinky.ts';

// How the command line is called, what it takes for its target, and how it calls Helm.

let api: TestApi;
let ploinky: Ploinky;

before(async () => {
  const started = await startApi();
  if (started === undefined) return;
  api = started;
  ploinky = started.ploinky;
});

after(() => api?.close());

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
    const file = join(api.folder, 'away');
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
    const env = { ...process.env, KUBECONFIG: api.kubeconfig };
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

describe('The plugin of kubectl', { skip, timeout: 120_000 }, () => {
  it('means the current context, and tells its own name', async () => {
    const bin = join(api.folder, 'bin');
    await mkdir(bin);
    await symlink(String(kubernetes), join(bin, 'kubectl'));
    await symlink(join(checkout, 'bin/ploinky'), join(bin, 'kubectl-ploinky'));
    const env = {
      ...process.env,
      NO_COLOR: '1',
      KUBECONFIG: api.kubeconfig,
      PATH: `${bin}${delimiter}${process.env['PATH']}`,
    };
    const kubectl = (...args: string[]) => runProgram(join(bin, 'kubectl'), ['ploinky', ...args], env);
    assert.equal((await kubectl('get', 'namespaces', 'default', '-o', 'name')).stdout, 'namespace/default\n');
    assert.match((await kubectl('--help')).stdout, /^Usage: kubectl ploinky \[options\]/);
    assert.match((await kubectl('get', '--help')).stdout, /^Usage: kubectl ploinky get/);
    assert.match((await kubectl('status', '-C', api.folder)).stdout, /- Router: not running/);
  });

  it('completes verbs and flags for kubectl', async () => {
    const script = join(api.folder, 'kubectl_complete-ploinky');
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
    const bin = join(api.folder, `helm-${code}`);
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, 'helm'), `#!/bin/sh\nprintf '%s\\n' "$@"\nexit ${code}\n`, { mode: 0o755 });
    return `${bin}${delimiter}${process.env['PATH']}`;
  }
  const run = (path: string, ...args: string[]) =>
    runProgram(join(checkout, 'bin/ploinky'), args, { ...process.env, NO_COLOR: '1', PATH: path });

  it('run helm with the chart, the cluster and the values that were named', async () => {
    const path = await standInHelm(0);
    const where = ['--context', 'real', '--kubeconfig', api.kubeconfig];
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
      ...['--namespace', 'ploinky-system', '--kubeconfig', api.kubeconfig, '--kube-context', 'real'],
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
    const bin = join(api.folder, 'no-helm');
    await mkdir(bin);
    for (const name of ['sh', 'basename', 'dirname', 'readlink'])
      await symlink(await which(name), join(bin, name));
    const missing = await run(bin, 'install', '--chart', '/charts/p');
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /helm is not on PATH\n {2}Get Helm .* from https:\/\/helm\.sh/);
    const refused = await run(bin, 'install', '-C', api.folder);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /`install` is for clusters/);
  });
});

async function which(name: string): Promise<string> {
  return (await runProgram('sh', ['-c', `command -v ${name}`])).stdout.trim();
}
