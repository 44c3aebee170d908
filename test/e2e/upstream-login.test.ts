import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { testServer } from '#agent-server/testing/harness.ts';
import { listen } from '#agent-server/upstream/remote/testing.ts';
import { editablePeople, personNamed } from '#router/auth/testing/people.ts';
import { master, startTestRouter } from '#router/testing/harness.ts';
import { agentNamed } from '#routing/testing.ts';
import { missingBrowser, startBrowser } from '#test/fixtures/browser/chromium.ts';
import { loginServer } from '#test/fixtures/remote/login-server.ts';
import { deriveAgentKey } from '#wire/keys.ts';

// An agent that is a remote MCP server at which each caller logs in: MCP clients at a router, a person in Chromium, the
// agent-server, and a server with accounts.

const secret = Buffer.alloc(32, 7);
const users = ['ana', 'bob'];

/** What scripts of this user show. */
function keyOf(user: string) {
  const about = {
    id: users.indexOf(user).toString(16).padStart(8, '0'),
    name: 'test',
    user: `local:${user}`,
  };
  return {
    ...about,
    created: '2026-01-01T00:00:00Z',
    hash: createHash('sha256').update(secret).digest('hex'),
  };
}

async function place(t: TestContext) {
  let port = 0;
  const remote = loginServer(() => `http://127.0.0.1:${port}`);
  port = await listen(t, createServer(remote.listener));
  const identity = { namespace: 'default', name: 'demo', uid: 'uid-demo' };
  const { kid, secret: own } = deriveAgentKey(master, identity);
  const upstream = { url: `http://127.0.0.1:${port}/mcp`, oauth: { mode: 'perUser' } };
  const { server } = await testServer(
    t,
    {
      agent: { ...identity, instance: 'demo-1', principal: 'agent:default/demo' },
      keys: [{ kid, secret: own.toString('base64url') }],
      mcp: { upstream },
    },
    { withoutTokens: false },
  );
  const people = editablePeople(
    'default/demo-users',
    users.map((name) => personNamed(name)),
    users.map(keyOf),
  );
  const router = await startTestRouter(t, [], { people });
  const endpoint = { name: 'demo', uid: 'demo-1', address: server.address, ready: true, terminating: false };
  const status = { endpoints: [endpoint], toolsDigest: 'd1', conditions: [] };
  const agent = agentNamed('demo', { uid: identity.uid, status });
  router.tables.set([{ ...agent, spec: { ...agent.spec, auth: { mode: 'pwd' } } }]);
  const base = await router.listen();
  const ask = async (user: string, name: string, inputResponses?: object) => {
    const response = await fetch(`${base}/mcps/demo/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer plk_${keyOf(user).id}_${secret.toString('base64url')}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': name,
      },
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
        params: { name, arguments: {}, ...(inputResponses && { inputResponses }), _meta: meta },
      }),
    });
    return JSON.stringify(await response.json());
  };
  return { base, remote, ask };
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
};

async function pictureFolder(t: TestContext): Promise<string> {
  const { SCREENSHOTS } = process.env;
  if (SCREENSHOTS !== undefined) {
    await mkdir(SCREENSHOTS, { recursive: true });
    return SCREENSHOTS;
  }
  const folder = await mkdtemp(join(tmpdir(), 'pictures-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test('a person who calls is sent to the router, logs in at the remote server in Chromium, and calls with their own account', {
  timeout: 120_000,
  skip: missingBrowser,
}, async (t) => {
  const { base, remote, ask } = await place(t);
  const url = `${base}/auth/upstream/default/demo`;
  const asked = await ask('ana', 'log_in');
  assert.match(asked, /"resultType":"input_required"/);
  assert.ok(asked.includes(`"url":"${url}"`), asked);

  const folder = await pictureFolder(t);
  const browser = await startBrowser();
  t.after(() => browser.close());
  const page = await browser.open(url);
  const heading = "(document.querySelector('h1')?.textContent ?? '')";
  const press = (selector: string) =>
    page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
  await page.until(`document.querySelector('#password') !== null`);
  await page.evaluate(`document.querySelector('#username').value = 'ana'`);
  await page.evaluate(`document.querySelector('#password').value = 'correct horse'`);
  await press('button');
  await page.until(`${heading}.startsWith('Log in at 127.0.0.1')`);
  await page.screenshot(join(folder, 'upstream-login-begin.png'));
  await press('a.button');
  await page.until(`document.querySelector('[name=account]') !== null`);
  await page.evaluate(`document.querySelector('[name=account]').value = 'ana-there'`);
  await press('button');
  await page.until(`${heading} === 'You are logged in'`);
  await page.screenshot(join(folder, 'upstream-login-done.png'));
  assert.equal(await page.evaluate('location.href'), url, 'no code is left in the address');

  const again = { 'ploinky-login': { action: 'accept' } };
  assert.match(await ask('ana', 'whoami', again), /"text":"ana-there"/);
  assert.match(
    await ask('bob', 'whoami'),
    /input_required/,
    'who has not logged in is not served by another',
  );
  assert.equal(remote.crossed, 0);

  await press('form button');
  await page.until(`${heading}.startsWith('Log in at')`);
  assert.equal(remote.counts.revocations, 1);
  assert.match(await ask('ana', 'whoami'), /input_required/);
  const stolen = await browser.open(
    `${url}/callback?code=x&state=y&iss=${encodeURIComponent('http://127.0.0.1')}`,
  );
  await stolen.until(`${heading} === 'Not logged in'`);
  await stolen.screenshot(join(folder, 'upstream-login-refused.png'));
  for (const name of ['begin', 'done', 'refused'])
    assert.ok((await stat(join(folder, `upstream-login-${name}.png`))).size > 5_000, name);
  assert.deepEqual(page.errors, []);
});

test('a page of the login is for people in browsers: neither for keys nor for nobody', {
  timeout: 60_000,
}, async (t) => {
  const { base } = await place(t);
  const url = `${base}/auth/upstream/default/demo`;
  const get = (headers: Record<string, string>) => fetch(url, { headers, redirect: 'manual' });
  const nobody = await get({ accept: 'text/html' });
  assert.deepEqual([nobody.status, nobody.headers.get('location')?.startsWith('/auth/login')], [302, true]);
  const key = `Bearer plk_${keyOf('ana').id}_${secret.toString('base64url')}`;
  assert.equal((await get({ authorization: key })).status, 403);
  assert.equal((await fetch(`${base}/auth/upstream/default/other`)).status, 404);
  const answer = await fetch(`${url}/client.json`);
  const document = (await answer.json()) as Record<string, unknown>;
  const told = [document['client_id'], document['redirect_uris']];
  assert.deepEqual(told, [`${url}/client.json`, [`${url}/callback`]], 'what authorization servers read');
});
