import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createWorkspace } from '#test/fixtures/workspace/workspace.ts';

describe('Where a workspace lies', { timeout: 300_000 }, () => {
  it('does not matter: a path of more than 200 characters with spaces works', async () => {
    const workspace = await createWorkspace({
      examples: ['hello', 'own-server'],
      below: `${'a folder with spaces/'.repeat(10)}and 'quotes' $HOME`,
    });
    try {
      assert.ok(workspace.paths.root.length > 200);
      await workspace.up();
      assert.equal((await workspace.must('call', 'greet', '-p', 'name=Ana')).trim(), 'Hello, Ana!');
      assert.equal((await workspace.must('call', 'add', '-p', 'a=1', '-p', 'b=2')).trim(), '3');
    } finally {
      await workspace.remove();
    }
  });

  it('keeps two apart: each has its own port, agents and end', async () => {
    const one = await createWorkspace({ examples: ['hello'] });
    const two = await createWorkspace({ examples: ['own-server'] });
    try {
      const urls = [await one.up(), await two.up()];
      assert.notEqual(urls[0], urls[1]);
      assert.match(await one.must('tools'), /greet/);
      assert.doesNotMatch(await one.must('tools'), /roll/);
      assert.match(await two.must('tools'), /roll/);
      await one.must('down');
      assert.equal((await two.must('call', 'add', '-p', 'a=1', '-p', 'b=2')).trim(), '3');
    } finally {
      await one.remove();
      await two.remove();
    }
  });
});
