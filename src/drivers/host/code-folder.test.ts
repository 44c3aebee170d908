import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { prepareCode } from './code-folder.ts';

test('inline files can be run, with an interpreter in the first line or without', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'code-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  const files = { 'run.sh': 'echo', 'bin/tool': '#!/bin/sh\necho' };
  const places = { root, state: root, inline: join(root, 'inline') };
  const folder = await prepareCode({ type: 'inline', files }, places, undefined);
  for (const name of Object.keys(files)) {
    const { mode } = await stat(join(folder ?? '', name));
    assert.equal(mode & 0o100, 0o100, name);
  }
});
