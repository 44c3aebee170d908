import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { refusedPath, type WrongObject, wrongObjects } from '#api/testing/wrong-objects.ts';
import { createWorkspace, runProgram, type TestWorkspace } from '#test/fixtures/workspace/workspace.ts';

/** One wrong object for each group of fields: the member of spec in which the mistake lies. */
const groups = new Map<string, WrongObject>();
for (const wrong of wrongObjects.filter(({ onlyParsing }) => !onlyParsing)) {
  const group = `${wrong.kind} ${refusedPath(wrong).split(/[.[]/).slice(0, 2).join('.')}`;
  if (!groups.has(group)) groups.set(group, wrong);
}

describe('A wrong spec is refused with the name of its field', { timeout: 900_000 }, () => {
  let workspace: TestWorkspace;
  before(async () => {
    workspace = await createWorkspace({ examples: [] });
    await workspace.up();
  });
  after(() => workspace.remove());

  async function fileWith({ kind, spec }: WrongObject): Promise<string> {
    const path = join(workspace.paths.root, 'wrong.json');
    const object = { apiVersion: 'ploinky.dev/v1alpha1', kind, metadata: { name: 'wrong' }, spec };
    await writeFile(path, JSON.stringify(object));
    return path;
  }

  for (const [group, wrong] of groups) {
    it(`${group}: by ploinky apply`, async () => {
      const { code, stderr } = await workspace.ploinky('apply', '-f', await fileWith(wrong));
      assert.equal(code, 5, stderr);
      assert.ok(stderr.includes(refusedPath(wrong)), `${refusedPath(wrong)} is not named in: ${stderr}`);
    });

    it(`${group}: by kubectl apply`, async (t) => {
      const kubectl = await runProgram('sh', ['-c', 'command -v kubectl']);
      if (kubectl.code !== 0) return t.skip('kubectl is not installed');
      const { kubeconfig } = workspace.paths;
      const common = ['--kubeconfig', kubeconfig, '--request-timeout', '10s'];
      const args = [...common, 'apply', '--server-side', '-f', await fileWith(wrong)];
      const { code, stderr } = await runProgram('kubectl', args);
      assert.notEqual(code, 0);
      assert.ok(stderr.includes(refusedPath(wrong)), `${refusedPath(wrong)} is not named in: ${stderr}`);
    });
  }

  it('and nothing of it is stored', async () => {
    for (const kind of ['agents', 'routes', 'tasks']) {
      assert.equal(await workspace.must('get', kind, '-o', 'name'), '');
    }
  });
});
