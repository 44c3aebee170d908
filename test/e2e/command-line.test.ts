import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findFamily, findTraces, survivors } from '#test/fixtures/workspace/traces.ts';
import {
  checkout,
  createWorkspace,
  runProgram,
  type TestWorkspace,
} from '#test/fixtures/workspace/workspace.ts';

const verbs = [
  ...[
    'init',
    'up',
    'down',
    'status',
    'apply',
    'get',
    'describe',
    'events',
    'delete',
    'restart',
    'scale',
    'logs',
  ],
  ...[
    'tools',
    'call',
    'task',
    'top',
    'connect',
    'mcp',
    'doctor',
    'install',
    'upgrade',
    'uninstall',
    'secret',
    'version',
    'completion',
  ],
];
const nothing = { processes: [], mounts: [], sockets: [], cgroups: [] };

describe('The command line without a workspace', { timeout: 120_000 }, () => {
  let workspace: TestWorkspace;
  before(async () => {
    workspace = await createWorkspace({ examples: [] });
  });
  after(() => workspace.remove());

  it('explains every verb', async () => {
    const help = await workspace.must('--help');
    for (const verb of verbs) {
      assert.match(help, new RegExp(`^  ${verb}\\b`, 'm'));
      const outcome = await workspace.ploinky(verb, '--help');
      assert.equal(outcome.code, 0, verb);
      assert.match(outcome.stdout, /^Usage: ploinky/);
    }
  });

  const wrong: [string, string[], number, RegExp][] = [
    ['an unknown verb', ['staus'], 2, /Did you mean status\?/],
    ['an unknown flag', ['get', 'agents', '--nope'], 2, /unknown option '--nope'/],
    ['an unknown kind', ['get', 'pods'], 2, /there is no kind "pods"/],
    ['a port that is none', ['up', '--port', '70000'], 2, /from 1 to 65535/],
    [
      'a form of output that the verb has not',
      ['status', '-o', 'xml'],
      2,
      /Use one of table, wide, yaml, json, name\./,
    ],
    ['a workspace that is not up', ['tools'], 3, /is not up\n {2}Start it with `ploinky up`/],
    ['a file that does not exist', ['apply', '-f', 'none.yaml'], 4, /none\.yaml does not exist/],
  ];
  for (const [name, args, code, message] of wrong) {
    it(`answers ${name} with exit code ${code} and what to do`, async () => {
      const outcome = await workspace.ploinky(...args);
      assert.equal(outcome.code, code, outcome.stderr);
      assert.match(outcome.stderr, message);
    });
  }

  it('completes verbs and flags in bash', async (t) => {
    const bash = await runProgram('sh', ['-c', 'command -v bash']);
    if (bash.code !== 0) return t.skip('bash is not installed');
    const script = join(workspace.paths.root, 'completion.bash');
    await writeFile(script, await workspace.must('completion', 'bash'));
    const ask = `source '${script}'; COMP_WORDS=(ploinky st); COMP_CWORD=1; _ploinky; echo "\${COMPREPLY[@]}"`;
    assert.equal((await runProgram('bash', ['-c', ask])).stdout.trim(), 'status');
  });

  it('runs through a symbolic link', async () => {
    const link = join(workspace.paths.root, 'ploinky');
    await symlink(join(checkout, 'bin/ploinky'), link);
    assert.match((await runProgram(link, ['version'])).stdout, /^ploinky \d+\.\d+\.\d+\n$/);
  });

  it('tells what the machine can do, in JSON too', async () => {
    const { stdout } = await workspace.ploinky('doctor', '-o', 'json');
    const checks = JSON.parse(stdout) as { name: string; level: string; remedy?: string }[];
    assert.deepEqual(checks.map(({ name }) => name).slice(0, 3), ['Node', 'Sandbox', 'Reaper']);
    for (const { level, remedy } of checks) assert.equal(remedy !== undefined, level !== 'ok');
  });
});

describe('up in the foreground', { timeout: 240_000 }, () => {
  it('stays until Ctrl-C, which ends everything and exits with 0', async () => {
    const workspace = await createWorkspace({ examples: ['hello'] });
    try {
      const { root } = workspace.paths;
      const args = ['up', '--apply', join(root, 'hello.yaml'), '-C', root];
      const child = spawn(join(checkout, 'bin/ploinky'), args, { stdio: ['ignore', 'pipe', 'pipe'] });
      let notes = '';
      child.stderr.on('data', (data: Buffer) => (notes += data.toString()));
      while (!notes.includes('Press Ctrl-C to stop.')) {
        assert.equal(child.exitCode, null, notes);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      assert.match(notes, /✓ hello {2}Ready · 2 tools/);
      const family = findFamily(workspace.paths);
      child.kill('SIGINT');
      const [code] = await once(child, 'exit');
      assert.equal(code, 0, notes);
      assert.deepEqual(survivors(family), []);
      assert.deepEqual(findTraces(workspace.paths), nothing);
    } finally {
      await workspace.remove();
    }
  });

  const endings: [string, (workspace: TestWorkspace, child: ChildProcess) => Promise<unknown>][] = [
    ['a `down` elsewhere', (workspace) => workspace.must('down')],
    [
      'a terminal that is closed, however often that is told',
      async (_workspace, child) => {
        child.stderr?.destroy();
        child.kill('SIGHUP');
        await new Promise((resolve) => setTimeout(resolve, 20));
        child.kill('SIGHUP');
      },
    ],
  ];
  for (const [name, end] of endings) {
    it(`ends with ${name}`, async () => {
      const workspace = await createWorkspace({ examples: [] });
      try {
        const args = ['up', '-C', workspace.paths.root];
        const child = spawn(join(checkout, 'bin/ploinky'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
        const exit = once(child, 'exit');
        await noteOf(child, 'Press Ctrl-C to stop.');
        await end(workspace, child);
        assert.deepEqual(await exit, [0, null]);
        assert.deepEqual(findTraces(workspace.paths), nothing);
      } finally {
        await workspace.remove();
      }
    });
  }

  it('is refused a port that somebody else has, and leaves nothing', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const workspace = await createWorkspace({ examples: [] });
    try {
      const outcome = await workspace.ploinky('up', '--detach', '--port', String(port));
      assert.equal(outcome.code, 1);
      assert.match(outcome.stderr, new RegExp(`port ${port} is taken on 127\\.0\\.0\\.1`));
      assert.deepEqual(findTraces(workspace.paths), nothing);
    } finally {
      server.close();
      await workspace.remove();
    }
  });

  it('tells which agent is not ready when it is asked to return', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'broken-'));
    const workspace = await createWorkspace({ examples: [] });
    try {
      const file = join(folder, 'agent.yaml');
      const spec = '{code: {path: not/there}}';
      const head = 'apiVersion: ploinky.dev/v1alpha1\nkind: Agent\nmetadata: {name: broken}\n';
      await writeFile(file, `${head}spec: ${spec}\n`);
      const outcome = await workspace.ploinky('up', '--detach', '--timeout', '5', '--apply', file);
      assert.ok(outcome.code === 6 || outcome.code === 1, `exit code ${outcome.code}`);
      assert.match(outcome.stderr, /not ready.*: broken \(CodeUnavailable\)/);
    } finally {
      await workspace.remove();
      await rm(folder, { recursive: true });
    }
  });
});

/** Resolves when `child` has written `text` to its standard error. */
function noteOf(child: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let notes = '';
    child.stderr?.on('data', (data: Buffer) => {
      notes += data.toString();
      if (notes.includes(text)) resolve();
    });
    child.once('exit', () => reject(new Error(notes)));
  });
}
