import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient } from './client.ts';
import { eventually } from './suite.ts';

const program = join(import.meta.dirname, '../../../src/main/apiserver.ts');

async function startProgram(workspace: string, runtime: string) {
  const child = spawn(process.execPath, [program, '--workspace', workspace], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '', HOME: workspace, XDG_RUNTIME_DIR: runtime },
  });
  child.stdout.resume();
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const kubeconfig = join(workspace, '.ploinky', 'kubeconfig');
  // The file of an earlier run may name another port: read it again until what it names answers.
  const client = await eventually(async () => {
    const text = await readFile(kubeconfig, 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    const config = JSON.parse(text);
    const found = createClient({ url: config.clusters[0].cluster.server, token: config.users[0].user.token });
    const answer = await found.get('/readyz').catch(() => undefined);
    return answer?.status === 200 ? found : undefined;
  }, 20_000);
  return { child, ended, client };
}

test('the program serves a workspace, ends with its standard input and on SIGTERM, and starts again', {
  timeout: 60_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pw-'));
  const workspace = join(folder, 'my workspace');
  const runtime = join(folder, 'run');
  await mkdir(join(workspace, '.ploinky'), { recursive: true, mode: 0o700 });
  await mkdir(runtime, { mode: 0o700 });
  try {
    const agents = '/apis/ploinky.dev/v1alpha1/namespaces/default/agents';
    const body = {
      apiVersion: 'ploinky.dev/v1alpha1',
      kind: 'Agent',
      metadata: { name: 'a' },
      spec: { command: ['true'] },
    };
    const first = await startProgram(workspace, runtime);
    assert.equal((await first.client.send('POST', agents, { body })).status, 201);
    first.child.stdin.end();
    assert.equal(await first.ended, 0);
    const second = await startProgram(workspace, runtime);
    assert.equal((await second.client.get(`${agents}/a`)).status, 200);
    second.child.kill('SIGTERM');
    assert.equal(await second.ended, 0);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
