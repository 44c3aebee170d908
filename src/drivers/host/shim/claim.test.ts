import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { identifyProcess } from '#kit/process.ts';
import { claimFolder } from './claim.ts';

it('one shim claims a folder; a dead one’s claim is taken over', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'claim-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'claim');
  const self = identifyProcess(process.pid);
  if (self === undefined) return context.skip('needs /proc');
  const release = claimFolder(path, self);
  assert.throws(() => claimFolder(path, self), /another shim/);
  release();
  assert.equal(existsSync(path), false);
  writeFileSync(path, JSON.stringify({ ...self, startTime: '1' }));
  claimFolder(path, self)();
  writeFileSync(path, 'torn');
  claimFolder(path, self)();
});
