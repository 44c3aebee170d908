import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { findFamily, findTraces, survivors } from '#test/fixtures/workspace/traces.ts';
import { createWorkspace, type TestWorkspace } from '#test/fixtures/workspace/workspace.ts';

// What only a laptop has: one `up` a workspace, sandboxes and their traces on the machine.
const examples = ['everything', 'files', 'hello', 'memory', 'own-server'];

describe('A workspace with the example agents', { timeout: 600_000 }, () => {
  let workspace: TestWorkspace;
  let url = '';
  before(async () => {
    workspace = await createWorkspace({ examples });
    url = await workspace.up();
  });
  after(() => workspace?.remove());

  it('refuses a second `up`, with pid and URL of the first', async () => {
    const second = await workspace.ploinky('up', '--detach');
    assert.equal(second.code, 1);
    assert.match(second.stderr, new RegExp(`up already: pid \\d+, ${url}`));
  });

  it('ends the sandbox of an agent that is deleted, and keeps its workspace', async () => {
    await workspace.must('delete', 'agent', 'memory');
    const left = findTraces(workspace.paths).processes.filter((line) => line.includes('server-memory'));
    assert.deepEqual(left, []);
    assert.match(await workspace.must('get', 'agents', '-o', 'name'), /^(?!.*memory).*hello/s);
  });

  it('leaves nothing after `down`: no process, mount, socket or control group', async () => {
    const family = findFamily(workspace.paths);
    const before = findTraces(workspace.paths);
    assert.ok(family.length > 15 && before.sockets.length > 10, JSON.stringify({ family, before }));
    await workspace.must('down');
    assert.deepEqual(survivors(family), []);
    assert.deepEqual(findTraces(workspace.paths), { processes: [], mounts: [], sockets: [], cgroups: [] });
    assert.equal((await workspace.ploinky('status')).code, 3);
  });
});
