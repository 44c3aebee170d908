import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { createWorkspace, type TestWorkspace } from '#test/fixtures/workspace/workspace.ts';

describe('Metrics of tasks', { timeout: 120_000 }, () => {
  let workspace: TestWorkspace;
  before(async () => {
    workspace = await createWorkspace({ examples: ['hello'] });
    await workspace.up();
  });
  after(() => workspace.remove());

  const scrape = () =>
    new Promise<string>((resolve, reject) => {
      const { controllerSocket: socketPath } = workspace.paths;
      request({ socketPath, path: '/metrics' }, (answer) => resolve(text(answer)))
        .once('error', reject)
        .end();
    });

  it('reach the controller from the agent-server while something changes', async () => {
    assert.doesNotMatch(await scrape(), /^ploinky_task[a-z_]*\{/m);
    for (const name of ['Ana', 'Eve']) await workspace.must('task', 'run', 'hello', 'greet', `name=${name}`);
    const at = 'namespace="default",agent="hello"';
    const ended = `ploinky_tasks_ended_total{${at},outcome="succeeded"} 2`;
    const deadline = performance.now() + 30_000;
    let seen = await scrape();
    while (!seen.includes(ended)) {
      assert.ok(performance.now() < deadline, seen);
      await new Promise((resolve) => setTimeout(resolve, 250));
      seen = await scrape();
    }
    for (const line of [
      `ploinky_tasks{${at},state="pending"} 0`,
      `ploinky_task_wait_seconds_count{${at}} 2`,
      `ploinky_task_run_seconds_bucket{le="+Inf",${at}} 2`,
    ]) {
      assert.ok(seen.includes(line), `${line} is not in\n${seen}`);
    }
  });
});
