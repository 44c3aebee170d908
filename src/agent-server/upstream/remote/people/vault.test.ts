import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '#kit/log.ts';
import type { WireKey } from '#wire/keys.ts';
import { openVault, type Vault } from './vault.ts';

const keyOf = (byte: number): WireKey => ({ kid: `0000000${byte}`, secret: Buffer.alloc(32, byte) });
const [first, second, third] = [keyOf(1), keyOf(2), keyOf(3)];

function place(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'vault-'));
  const opened: Vault[] = [];
  t.after(async () => {
    for (const vault of opened) await vault.settled();
    rmSync(folder, { recursive: true, force: true });
  });
  const now = Date.now();
  const open = (keys: () => readonly WireKey[]) => {
    const vault = openVault({ folder, keys, owner: ['demo'], log: silentLog, now: () => now });
    opened.push(vault);
    return vault;
  };
  return { folder, open };
}

test('what is kept outlives rotations: it is sealed anew with each, and stays as old as it is', async (t) => {
  const { folder, open } = place(t);
  let keys = [first];
  const vault = open(() => keys);
  await vault.write('alice', { token: 'a' });
  const [file = ''] = readdirSync(folder);
  const path = join(folder, file);
  const before = new Date(Date.now() - 86_400_000);
  utimesSync(path, before, before);
  keys = [second, first];
  await vault.rotate();
  keys = [third, second];
  assert.deepEqual(vault.read('alice'), { token: 'a' });
  assert.deepEqual(open(() => [second]).read('alice'), { token: 'a' });
  assert.equal(open(() => [first]).read('alice'), undefined, 'the control: the old key opens it no more');
  assert.equal(statSync(path).mtime.getTime(), before.getTime());
});

test('a rotation that came while nothing ran is made up for at the start', async (t) => {
  const { open } = place(t);
  await open(() => [first]).write('alice', { token: 'a' });
  await open(() => [second, first]).settled();
  assert.deepEqual(open(() => [third, second]).read('alice'), { token: 'a' });
});

test('what belongs to another name, or is sealed with no known key, stays closed and as it is', async (t) => {
  const { folder, open } = place(t);
  const vault = open(() => [first]);
  await vault.write('alice', { token: 'a' });
  const [alice = ''] = readdirSync(folder);
  await open(() => [third]).settled();
  assert.deepEqual(vault.read('alice'), { token: 'a' });
  await vault.write('bob', { token: 'b' });
  const bob = readdirSync(folder).find((name) => name !== alice) ?? '';
  renameSync(join(folder, alice), join(folder, bob));
  await vault.rotate();
  assert.equal(vault.read('bob'), undefined);
});
