import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { TaskStore } from '#agent-server/queue/store/store.ts';

const program = join(import.meta.dirname, '../../src/main/agent-server.ts');

function repair(...args: string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'repair-queue', ...args], {
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
}

test('the command that a refused queue names repairs it', { timeout: 60_000 }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'repair-command-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = new TaskStore(folder, 0);
  store.apply([
    {
      type: 'add',
      ...{ id: '00000000000000aa', key: null, owner: null, tool: 'echo', priority: 1, retries: 0 },
      ...{ payload: '{"word":"kept"}', timeoutMs: null, ttlMs: null, now: 1 },
    },
  ]);
  const inUse = repair('--folder', folder);
  assert.equal(inUse.code, 1);
  assert.match(inUse.stderr, /is in use by another process.*End the agent first/);
  store.close();

  const path = join(folder, 'tasks.sqlite');
  const bytes = readFileSync(path);
  bytes.write('spoilt', bytes.lastIndexOf('pending'));
  writeFileSync(path, bytes);
  assert.throws(() => new TaskStore(folder, 2), { code: 'QueueDamaged', remedy: /repair-queue --folder / });

  const repaired = repair('--folder', folder);
  assert.equal(repaired.code, 0, repaired.stderr);
  assert.match(repaired.stdout, /^Kept 1 task \(1 failed\)\.\nNo task is known to be lost\.\n/);
  assert.match(repaired.stdout, /cannot be read what became of them: 00000000000000aa\./);
  const again = new TaskStore(folder, 3);
  again.close();

  assert.equal(repair('--folder', join(folder, 'nowhere')).code, 1);
  assert.equal(repair().code, 2);
  assert.match(repair('--config-fd', '3', '--folder', folder).stderr, /repair-queue has no --config-fd/);
});
