import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editablePeople, personNamed } from '../auth/testing/people.ts';
import { agentOf, startTestRouter } from '../testing/harness.ts';

const limits = { timeout: 30_000 };

/** What a browser that is logged in is told of caches, by an agent that asks who comes or does not. */
async function cachesOf(
  t: Parameters<typeof startTestRouter>[0],
  headers: Record<string, string>,
  isGuarded = true,
) {
  const people = editablePeople('default/demo-users', [personNamed('ana')]);
  const { agents, tables, inject } = await startTestRouter(t, [{ name: 'demo', headers }], { people });
  const [demo] = agents.map((agent) => agentOf(agent));
  if (demo === undefined) throw new Error('no agent');
  if (isGuarded) tables.set([{ ...demo, spec: { ...demo.spec, auth: { mode: 'pwd' } } }]);
  const login = await inject({
    method: 'POST',
    url: '/auth/login',
    headers: { host: 'localhost', 'content-type': 'application/json', accept: 'application/json' },
    payload: '{"username":"ana","password":"correct horse"}',
  });
  const cookie = String(login.headers['set-cookie'] ?? '').split(';')[0] ?? '';
  return async (url: string) => {
    const answer = await inject({ method: 'GET', url, headers: { host: 'localhost', cookie } });
    assert.equal(answer.statusCode, 200, answer.body);
    return answer.headers;
  };
}

test('files and answers of an agent that asks are for the browser that asked', limits, async (t) => {
  const said = {
    'cache-control': 'public, max-age=300, s-maxage=600',
    'cdn-cache-control': 'max-age=600',
    vary: 'Accept-Encoding',
  };
  const ask = await cachesOf(t, said);
  for (const url of ['/demo/a.js', '/apis/demo/x']) {
    const headers = await ask(url);
    assert.equal(headers['cache-control'], 'private, max-age=300', url);
    assert.equal(headers['vary'], 'cookie, authorization, accept-encoding', url);
    assert.equal(headers['cdn-cache-control'], undefined, url);
  }
});

test('what an agent-server says of its files, and what nobody says', limits, async (t) => {
  const ask = await cachesOf(t, { 'cache-control': 'max-age=60' });
  assert.equal((await ask('/demo/a.html'))['cache-control'], 'private, max-age=60');
  const silent = await cachesOf(t, {});
  assert.equal((await silent('/demo/a.js'))['cache-control'], 'private, max-age=300');
  assert.equal((await silent('/apis/demo/x'))['cache-control'], 'private');
  const strict = await cachesOf(t, { 'cache-control': 'no-cache="set-cookie, x", no-store', vary: '*' });
  const headers = await strict('/apis/demo/x');
  assert.deepEqual([headers['cache-control'], headers['vary']], ['private, no-cache, no-store', '*']);
});

test('the control: where nothing asks caches may keep what the agent lets them', limits, async (t) => {
  const ask = await cachesOf(t, { 'cache-control': 'public, max-age=60', vary: 'Accept' }, false);
  for (const url of ['/demo/a.js', '/apis/demo/x']) {
    const headers = await ask(url);
    assert.deepEqual([headers['cache-control'], headers['vary']], ['public, max-age=60', 'Accept'], url);
  }
});
