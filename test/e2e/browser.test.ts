import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { missingBrowser, startBrowser } from '#test/fixtures/browser/chromium.ts';
import { createWorkspace, type TestWorkspace } from '#test/fixtures/workspace/workspace.ts';

/** Where screenshots are written: they stay where SCREENSHOTS names a folder. */
async function pictureFolder(t: TestContext): Promise<string> {
  const { SCREENSHOTS } = process.env;
  if (SCREENSHOTS !== undefined) {
    await mkdir(SCREENSHOTS, { recursive: true });
    t.diagnostic(`pictures are in ${SCREENSHOTS}`);
    return SCREENSHOTS;
  }
  const folder = await mkdtemp(join(tmpdir(), 'pictures-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe('The browser client in Chromium', { timeout: 240_000, skip: missingBrowser }, () => {
  let workspace: TestWorkspace;
  let url = '';
  before(async () => {
    workspace = await createWorkspace({ examples: ['report'] });
    url = await workspace.up();
  });
  after(() => workspace.remove());

  it('waits for a tool that was queued, and shows how far it is', async (t) => {
    const folder = await pictureFolder(t);
    const browser = await startBrowser();
    t.after(() => browser.close());
    const page = await browser.open(`${url}/report/index.html`);
    await page.evaluate("document.querySelector('#pages').value = 5");
    await page.evaluate("document.querySelector('button').click()");
    const bar = "document.querySelector('#bar').value";
    const state = "document.querySelector('#state').textContent";
    await page.until(`${bar} >= 0.4 && ${bar} < 1`);
    const half = String(await page.evaluate(state));
    assert.match(half, /^running: writing page [345] of 5$/);
    await page.screenshot(join(folder, 'task-running.png'));
    assert.match(
      String(await page.evaluate("document.querySelector('#log').textContent")),
      /^page 1 is written\n/,
    );
    await page.until(`${state} === 'The report is ready.'`);
    assert.equal(await page.evaluate(bar), 1);
    await page.screenshot(join(folder, 'task-done.png'));
    for (const name of ['task-running.png', 'task-done.png']) {
      assert.ok((await stat(join(folder, name))).size > 5_000, name);
    }
    assert.deepEqual(page.errors, []);
  });
});
