import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import { personNamed } from '#router/auth/testing/people.ts';
import { loginServer } from '#test/fixtures/remote/login-server.ts';
import { makeCertificate } from '#test/fixtures/remote/remote-place.ts';
import { createWorkspace, type TestWorkspace } from '#test/fixtures/workspace/workspace.ts';

// A whole workspace beside a server elsewhere at which people have accounts: runs in a network of its own.

const address = '203.0.113.10';
const origin = 'https://mcp.test';
const password = 'correct horse';

const agent = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name: 'remote' },
  spec: {
    auth: { mode: 'pwd' },
    mcp: {
      upstream: {
        url: `${origin}/mcp`,
        oauth: { mode: 'perUser' },
        ca: { configMapKeyRef: { name: 'authorities', key: 'ca.pem' } },
      },
    },
  },
};

const people = {
  ...{ apiVersion: 'v1', kind: 'Secret', type: 'ploinky.dev/users' },
  metadata: { name: 'remote-users', namespace: 'default' },
  stringData: {
    users: JSON.stringify({ version: 1, users: [personNamed('ana'), personNamed('bob')], keys: [] }),
  },
};

async function apply(workspace: TestWorkspace, what: object): Promise<void> {
  const file = join(workspace.paths.root, 'object.json');
  await writeFile(file, JSON.stringify(what));
  await workspace.must('apply', '-f', file);
}

/** Where a page of the remote server leads. */
function follow(url: URL, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request(url, { ca }, (answer) => {
      answer.resume();
      resolve(String(answer.headers.location));
    })
      .once('error', reject)
      .end();
  });
}

/** Somebody in front of a browser, and their MCP client with the same session. */
function visitor(base: string, ca: string) {
  let cookie = '';
  const send = async (path: string, init: RequestInit = {}) => {
    const headers = { accept: 'text/html', cookie, ...(init.headers as Record<string, string>) };
    const answer = await fetch(new URL(path, base), { redirect: 'manual', ...init, headers });
    const set = answer.headers.getSetCookie().map((line) => line.split(';')[0] ?? '');
    if (set.length > 0) cookie = set.join('; ');
    return answer;
  };
  return {
    async logIn(username: string): Promise<number> {
      const body = JSON.stringify({ username, password });
      const headers = { accept: 'application/json', 'content-type': 'application/json' };
      return (await send('/auth/login', { method: 'POST', headers, body })).status;
    },
    /** Logs in at the remote server with this account; the heading of the page that this ends at. */
    async logInThere(account: string): Promise<string | undefined> {
      const page = await (await send('/auth/upstream/default/remote')).text();
      const href = /class="button" href="([^"]+)"/.exec(page)?.[1]?.replaceAll('&#38;', '&') ?? page;
      const there = new URL(href);
      there.searchParams.set('account', account);
      const back = await send(await follow(there, ca));
      const done = await (await send(back.headers.get('location') ?? '')).text();
      return /<h1>([^<]*)/.exec(done)?.[1];
    },
    async call(name: string): Promise<string> {
      const answer = await send('/mcps/remote/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': name,
        },
        body: JSON.stringify({
          ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
          params: { name, arguments: {}, _meta: meta },
        }),
      });
      return answer.text();
    },
  };
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
};

async function untilReady(workspace: TestWorkspace): Promise<void> {
  const end = performance.now() + 90_000;
  for (;;) {
    const shown = await workspace.must('get', 'agent', 'remote', '-o', 'json');
    const { status } = JSON.parse(shown) as { status?: { conditions?: { type: string; status: string }[] } };
    if (status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')) return;
    if (performance.now() > end) assert.fail(shown);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function readSafely(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** What is in the files of a folder, and of those in it. */
function everythingIn(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readSafely(join(entry.parentPath, entry.name)))
    .join('\n');
}

test('each caller logs in, is served with their own account, and still is after a restart', {
  timeout: 300_000,
}, async (t) => {
  const { key, cert } = await makeCertificate(['mcp.test']);
  const remote = loginServer(() => origin);
  const server = createServer({ key, cert }, remote.listener).listen(443, address);
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const workspace = await createWorkspace({ examples: [] });
  t.after(() => workspace.remove());
  const base = await workspace.up();
  const authorities = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'authorities', namespace: 'default' },
  };
  await apply(workspace, { ...authorities, data: { 'ca.pem': cert } });
  await apply(workspace, agent);
  await apply(workspace, people);
  await untilReady(workspace);

  const [ana, bob] = [visitor(base, cert), visitor(base, cert)];
  assert.deepEqual([await ana.logIn('ana'), await bob.logIn('bob')], [200, 200]);
  assert.match(await ana.call('log_in'), /input_required.*\/auth\/upstream\/default\/remote/);
  assert.equal(await ana.logInThere('ana-there'), 'You are logged in');
  assert.match(await ana.call('whoami'), /"text":"ana-there"/);
  assert.match(await bob.call('whoami'), /input_required/);
  assert.equal(await bob.logInThere('bob-there'), 'You are logged in');
  assert.match(await bob.call('whoami'), /"text":"bob-there"/);
  assert.match(await ana.call('whoami'), /"text":"ana-there"/);

  const kept = everythingIn(workspace.paths.root) + (await workspace.must('logs', 'remote'));
  for (const token of [...remote.tokens.keys(), ...remote.refreshTokens.keys()])
    assert.ok(!kept.includes(token));
  await workspace.must('restart', 'remote');
  await untilReady(workspace);
  assert.match(await ana.call('whoami'), /"text":"ana-there"/);
  assert.equal(remote.crossed, 0);
});
