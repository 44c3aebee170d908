import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { missingRemote } from '#test/fixtures/remote/remote-place.ts';
import { runProgram } from '#test/fixtures/workspace/workspace.ts';

// Servers elsewhere need addresses that are not this machine's: a network and a hosts file of the test's own.

const names = { 'mcp.test': '203.0.113.10', 'auth.test': '203.0.113.11' };
const enter = ['--net', '--mount', 'sh', '-c'];
const canEnter =
  process.getuid?.() === 0 && spawnSync('unshare', [...enter, 'ip link set lo up']).status === 0;
const skip = missingRemote ?? (canEnter ? false : 'needs root, unshare(1) and ip(8)');

const options = { skip, timeout: 400_000 };

test('an agent that is a server elsewhere, in a workspace', options, (t) => runInside(t, 'inside.ts'));

test('an agent that is a server elsewhere at which each caller logs in, in a workspace', options, (t) =>
  runInside(t, 'people.ts'),
);

async function runInside(t: TestContext, name: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'remote-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const hosts = join(folder, 'hosts');
  const lines = Object.entries({ localhost: '127.0.0.1', ...names }).map(
    ([name, address]) => `${address} ${name}`,
  );
  await writeFile(hosts, `${lines.join('\n')}\n`);
  const addresses = Object.values(names).map((address) => `ip addr add ${address}/32 dev lo`);
  const script = [
    'set -e',
    'ip link set lo up',
    ...addresses,
    `mount --bind ${hosts} /etc/hosts`,
    'exec "$@"',
  ];
  const program = join(import.meta.dirname, 'remote', name);
  // The runner of this file must not take the other's report for its own.
  const { NODE_TEST_CONTEXT: _runner, ...env } = process.env;
  const command = [...enter, script.join('; '), 'sh', process.execPath, program];
  const { code, stdout, stderr } = await runProgram('unshare', command, env);
  assert.equal(code, 0, `${stdout}\n${stderr}`);
}
