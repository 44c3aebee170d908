import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { type BrowserPage, missingBrowser, startBrowser } from '#test/fixtures/browser/chromium.ts';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';

// An agent with mode pwd, as its users see it: in a browser, with a cookie, with a key.

const password = 'correct horse battery';
/** Where to leave pictures of the pages; unset: nowhere. */
const pictures = process.env['PLOINKY_PICTURES'];

describe('an agent that only its users reach', { skip: missingPlace, timeout: 600_000 }, () => {
  let place: Place;
  let url: string;
  before(async () => {
    place = await createPlace({ examples: ['hello', 'login/diary'] });
    url = await place.up();
    await withInput(place, password, 'user', 'add', 'ana', '--agent', 'diary', '--role', 'writer');
    await until(async () => (await logIn(url, password)).status === 200);
  });
  after(() => place?.remove());

  it('asks in a browser, tells a wrong password, lets in and lets out', {
    skip: missingBrowser,
  }, async () => {
    const browser = await startBrowser({ width: 760, height: 640 });
    try {
      const page = await browser.open(`${url}/diary/`);
      await page.until('document.querySelector("#username") !== null');
      assert.equal(await page.evaluate('document.scripts.length'), 0);
      await picture(page, 'login');
      await fillIn(page, 'wrong password');
      await page.until(
        'document.querySelector("[role=alert]")?.textContent === "Invalid username or password."',
      );
      await picture(page, 'login-wrong');
      await fillIn(page, password);
      await page.until('document.querySelector("#who")?.textContent === "You are ana (writer)."');
      await page.evaluate('void (location.href = "/auth/account")');
      await page.until('document.querySelector("h1")?.textContent === "You are logged in"');
      await picture(page, 'logged-in');
      await page.evaluate('document.querySelector("form button").click()');
      await page.until('document.querySelector("h1")?.textContent === "You are logged out"');
      await picture(page, 'logged-out');
      await page.evaluate('void (location.href = "/diary/")');
      await page.until('document.querySelector("#username") !== null');
      assert.deepEqual(page.errors, []);
    } finally {
      await browser.close();
    }
  });

  it('is absent for others among several agents, and there for who may', async () => {
    const cookie = await cookieOf(url);
    assert.deepEqual(await toolsOf(url, {}), ['greet', 'today']);
    assert.deepEqual(await toolsOf(url, { cookie }), ['greet', 'today', 'who_am_i']);
    const alone = await fetch(`${url}/mcps/diary/mcp`, rpc('tools/list', {}));
    assert.equal(alone.status, 401);
    assert.match(alone.headers.get('www-authenticate') ?? '', /^Bearer /);
  });

  it('a page of another origin cannot act with the cookie of who is logged in; one of its own can', async () => {
    const cookie = await cookieOf(url);
    const { host } = new URL(url);
    const call = (headers: Record<string, string>) =>
      fetch(`${url}/mcps/diary/mcp`, rpc('initialize', { cookie, ...headers }));
    assert.equal((await call({ origin: `http://${host}` })).status, 200, 'the control');
    assert.equal((await call({ origin: 'http://localhost:1' })).status, 403, 'another port is the same site');
    assert.equal((await call({ 'sec-fetch-site': 'cross-site' })).status, 403);
  });

  it('a session ends at every router by a logout, another password and a disabled user', async () => {
    const routers = await place.replicas();
    const cookie = await cookieOf(url);
    const statuses = () =>
      Promise.all(
        routers.map(async (at) => (await fetch(`${at}/auth/token`, { headers: { cookie } })).status),
      );
    assert.deepEqual(
      await statuses(),
      routers.map(() => 200),
    );
    const out = await fetch(`${url}/auth/logout`, { headers: { cookie }, redirect: 'manual' });
    assert.equal(out.headers.get('location'), '/auth/logged-out');
    await until(async () => (await statuses()).every((status) => status === 401));

    const next = await cookieOf(url);
    await withInput(place, `${password}!`, 'user', 'passwd', 'ana', '--agent', 'diary');
    await until(async () => (await tokenStatus(url, next)) === 401);
    assert.equal((await logIn(url, password)).status, 401);
    const third = (await logIn(url, `${password}!`)).cookie;
    assert.equal(await tokenStatus(url, third), 200);
    await place.must('user', 'disable', 'ana', '--agent', 'diary');
    await until(async () => (await tokenStatus(url, third)) === 401);
    await place.must('user', 'enable', 'ana', '--agent', 'diary');
    await withInput(place, password, 'user', 'passwd', 'ana', '--agent', 'diary');
    await until(async () => (await logIn(url, password)).status === 200);
  });

  it('a key is its user until it is revoked', async () => {
    const made = await place.must('key', 'create', 'ci', '--user', 'ana', '--agent', 'diary', '-o', 'json');
    const { id, key } = JSON.parse(made) as { id: string; key: string };
    const status = async () =>
      (await fetch(`${url}/mcps/diary/mcp`, rpc('initialize', { authorization: `Bearer ${key}` }))).status;
    await until(async () => (await status()) === 200);
    assert.equal((await place.ploinky('call', 'diary', 'who_am_i')).code, 5, 'without it');
    const { file, args, env } = place.start('call', 'diary', 'who_am_i');
    const called = spawn(file, [...args], {
      env: { ...env, PLOINKY_API_KEY: key },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    assert.equal(await text(called.stdout), 'ana (writer)\n');
    assert.doesNotMatch(await place.must('key', 'list', '--agent', 'diary', '-o', 'json'), /hash|plk_/);
    await place.must('key', 'revoke', id, '--agent', 'diary');
    await until(async () => (await status()) === 401);
  });
});

const guestbook = `apiVersion: ploinky.dev/v1alpha1
kind: Agent
metadata: { name: guestbook }
spec:
  auth:
    mode: guest
    allow:
      - { tools: [who_am_i], roles: [guest] }
      - { tools: [erase], roles: [admin] }
  mcp:
    tools:
      - { name: who_am_i, command: node who.mjs }
      - { name: erase, command: node who.mjs }
  code:
    inline:
      who.mjs: |
        const { metadata } = JSON.parse(await new Response(process.stdin).text());
        const { id, roles, realm } = metadata.invocation.usr;
        process.stdout.write([id, roles, realm].join(' '));
      index.html: |
        <!doctype html>
        <html lang="en">
          <title>guestbook</title>
          <p id="who"></p>
          <p id="tools"></p>
          <p id="erase"></p>
          <script type="module" src="page.js"></script>
        </html>
      page.js: |
        import { createAgentClient } from '/MCPBrowserClient.js';
        const show = (id, text) => { document.getElementById(id).textContent = text; };
        const client = createAgentClient('/mcps/guestbook/mcp');
        await client.connect();
        show('who', (await client.callTool('who_am_i', {})).content[0].text);
        const tools = await client.listTools();
        show('tools', (tools.tools ?? tools).map(({ name }) => name).join(' '));
        await client.callTool('erase', {}).then(
          ({ isError }) => show('erase', isError ? 'refused' : 'erased'),
          () => show('erase', 'refused'),
        );
`;

describe('an agent for guests', { skip: missingPlace || missingBrowser, timeout: 600_000 }, () => {
  let place: Place;
  let url: string;
  before(async () => {
    place = await createPlace({ examples: [] });
    const file = join(place.folder, 'guestbook.yaml');
    await writeFile(file, guestbook);
    url = await place.up(file);
  });
  after(() => place?.remove());

  it('lets in whoever asks, each as somebody of their own with the role guest, for what its rules let guests do', async () => {
    const first = await visit();
    const second = await visit();
    const guest = /^guest:[\w-]{12} guest guest$/;
    assert.match(first, guest);
    assert.match(second, guest);
    assert.notEqual(first, second);
    assert.equal(
      (await fetch(`${url}/mcps/guestbook/mcp`, rpc('initialize', {}))).status,
      401,
      'who did not ask',
    );
  });

  /** A browser of its own; what the agent says of who calls. */
  async function visit(): Promise<string> {
    const browser = await startBrowser({ width: 760, height: 640 });
    try {
      const page = await browser.open(`${url}/guestbook/`);
      await page.until('document.querySelector("h1")?.textContent === "Come in"');
      assert.equal(await page.evaluate('document.scripts.length'), 0);
      await picture(page, 'guest');
      await page.evaluate('document.querySelector("form button").click()');
      await page.until('(document.querySelector("#erase")?.textContent ?? "") !== ""');
      const shown = (id: string) => page.evaluate(`document.getElementById('${id}').textContent`);
      assert.deepEqual([await shown('tools'), await shown('erase')], ['who_am_i', 'refused']);
      const token = 'fetch("/auth/token").then((answer) => answer.json())';
      const left = await page.evaluate(`${token}.then(({ token }) => token.expiresAt - Date.now())`);
      assert.ok(Number(left) > 3_500_000 && Number(left) <= 3_600_000, `${left} ms are left`);
      return String(await shown('who'));
    } finally {
      await browser.close();
    }
  }
});

async function picture(page: BrowserPage, name: string): Promise<void> {
  if (pictures === undefined) return;
  await mkdir(pictures, { recursive: true });
  await page.screenshot(join(pictures, `${name}.png`));
}

async function fillIn(page: BrowserPage, secret: string): Promise<void> {
  await page.evaluate(`
    document.querySelector('#username').value = 'ana';
    document.querySelector('#password').value = ${JSON.stringify(secret)};
    document.querySelector('form button').click()`);
  // The page that comes after says itself whether it is another one.
  await new Promise((resolve) => setTimeout(resolve, 300));
}

async function logIn(url: string, secret: string): Promise<{ status: number; cookie: string }> {
  const response = await fetch(`${url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ username: 'ana', password: secret, agent: 'diary' }),
  });
  await response.text();
  const [cookie = ''] = response.headers.getSetCookie().map((line) => line.split(';')[0] ?? '');
  return { status: response.status, cookie };
}

async function cookieOf(url: string): Promise<string> {
  const { status, cookie } = await logIn(url, password);
  assert.equal(status, 200);
  return cookie;
}

async function tokenStatus(url: string, cookie: string): Promise<number> {
  return (await fetch(`${url}/auth/token`, { headers: { cookie } })).status;
}

function rpc(method: string, headers: Record<string, string>): RequestInit {
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  };
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: method === 'initialize' ? params : {} }),
  };
}

/** Names of the tools at the aggregate, the whole way of a client. */
async function toolsOf(url: string, headers: Record<string, string>): Promise<string[]> {
  const begun = await fetch(`${url}/mcp`, rpc('initialize', headers));
  const session = begun.headers.get('mcp-session-id') ?? '';
  const version = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' };
  const answer = await fetch(`${url}/mcp`, rpc('tools/list', { ...headers, ...version }));
  const body = (await answer.text()).replace(/^(?:event:.*\n)?data: /, '');
  const { result } = JSON.parse(body) as { result: { tools: { name: string }[] } };
  return result.tools.map(({ name }) => name).sort();
}

/** `ploinky ARGS` with a value on standard input. */
async function withInput(place: Place, input: string, ...args: string[]): Promise<void> {
  const { file, args: all, env } = place.start(...args);
  const child = spawn(file, [...all], { env, stdio: ['pipe', 'ignore', 'inherit'] });
  child.stdin.end(`${input}\n`);
  const [code] = await once(child, 'exit');
  assert.equal(code, 0, args.join(' '));
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, 'it never came true');
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
