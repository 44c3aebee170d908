import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { ApiKey, Person } from '#api/people.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { RouterOptions } from '../app.ts';
import { agentOf, startTestRouter } from '../testing/harness.ts';
import { editablePeople, personNamed } from './testing/people.ts';

const realm = 'default/demo-users';
const secret = Buffer.alloc(32, 7);
const key: ApiKey = {
  ...{ id: 'abcd1234', name: 'ci', user: 'local:ana', created: '2026-01-01T00:00:00Z' },
  hash: createHash('sha256').update(secret).digest('hex'),
};
const keyText = `plk_abcd1234_${secret.toString('base64url')}`;
const hour = 3_600_000;

interface Stand {
  readonly users?: readonly Person[];
  readonly keys?: readonly ApiKey[];
  readonly mode?: 'pwd' | 'guest';
  readonly options?: Partial<RouterOptions>;
}

/** A router in front of `demo`, which asks, and `open`, which does not. */
async function startStand(
  t: TestContext,
  { users = [personNamed('ana')], keys = [], mode = 'pwd', options }: Stand = {},
) {
  // Of the agents as well: they take no token from before their own start.
  const clock = createFakeClock(Date.now());
  const people = editablePeople(realm, users, keys);
  const fakes = ['demo', 'open'].map((name) => ({ name, clock }));
  const router = await startTestRouter(t, fakes, {
    clock,
    people,
    ...options,
  });
  const [demo, open] = router.agents;
  if (demo === undefined || open === undefined) throw new Error('no agents');
  const agent = agentOf(demo);
  router.tables.set([{ ...agent, spec: { ...agent.spec, auth: { mode } } }, agentOf(open)]);
  const logIn = async (more: Record<string, string> = {}, password = 'correct horse') => {
    const answer = await router.inject({
      method: 'POST',
      url: '/auth/login',
      headers: { host: 'localhost', accept: 'application/json', 'content-type': 'application/json', ...more },
      payload: JSON.stringify({ username: 'ana', password }),
    });
    return { status: answer.statusCode, headers: answer.headers, cookie: cookieIn(answer.headers) };
  };
  const ask = async (url: string, headers: Record<string, string> = {}) => {
    const answer = await router.inject({ method: 'GET', url, headers: { host: 'localhost', ...headers } });
    return { status: answer.statusCode, headers: answer.headers, text: answer.body };
  };
  const isIn = async (cookie: string) => (await ask('/auth/token', { cookie })).status === 200;
  return { ...router, clock, people, logIn, ask, isIn };
}

type Headers = Readonly<Record<string, number | string | string[] | undefined>>;

function cookiesIn(headers: Headers): string[] {
  return [headers['set-cookie'] ?? []].flat().map(String);
}

function cookieIn(headers: Headers): string {
  return cookiesIn(headers)
    .map((line) => line.split(';')[0] ?? '')
    .join('; ');
}

test('browsers are led to the login page, programs are told of it', async (t) => {
  const { ask } = await startStand(t);
  const browser = await ask('/demo/', { accept: 'text/html' });
  assert.deepEqual([browser.status, browser.headers['location']], [302, '/auth/login?returnTo=%2Fdemo%2F']);
  const program = await ask('/apis/demo/x', { accept: 'application/json' });
  assert.equal(program.status, 401);
  assert.deepEqual(JSON.parse(program.text), {
    ...{ ok: false, error: 'not_authenticated', login: '/auth/login?returnTo=%2Fapis%2Fdemo%2Fx' },
  });
  const open = await ask('/apis/open/x');
  assert.equal(open.headers['www-authenticate'], undefined, 'the control: one that asks for nothing');
});

test('where nothing asks there is nothing to log in to', async (t) => {
  const { ask, tables, agents } = await startStand(t);
  tables.set(agents.map((agent) => agentOf(agent)));
  for (const path of ['login', 'token', 'account'])
    assert.deepEqual(JSON.parse((await ask(`/auth/${path}`)).text), { ok: false, error: 'auth_disabled' });
});

test('the cookie is for no script and no other site, and with https for no other host and no clear line', async (t) => {
  const plain = await startStand(t);
  const [line = ''] = cookiesIn((await plain.logIn()).headers);
  assert.match(line, /^ploinky_[0-9a-f]{16}=[\w-]+; Path=\/; Max-Age=14400; HttpOnly; SameSite=Lax$/);
  const secure = await startStand(t, { options: { auth: { publicOrigin: 'https://localhost' } } });
  const [other = ''] = cookiesIn((await secure.logIn()).headers);
  assert.match(
    other,
    /^__Host-ploinky_[0-9a-f]{16}=[\w-]+; Path=\/; Max-Age=14400; HttpOnly; SameSite=Lax; Secure$/,
  );
  // What a proxy says counts for nothing: only the configuration does.
  const spoofed = await plain.logIn({ 'x-forwarded-proto': 'https' });
  assert.doesNotMatch(String(cookiesIn(spoofed.headers)), /Secure|__Host-/);
});

test('a login makes a session of its own: one that was there before is not taken over and ends', async (t) => {
  const { logIn, isIn } = await startStand(t);
  const first = (await logIn()).cookie;
  assert.equal(await isIn(first), true);
  const second = (await logIn({ cookie: first })).cookie;
  assert.notEqual(first, second);
  assert.deepEqual([await isIn(first), await isIn(second)], [false, true]);
  const name = first.split('=')[0];
  const made = (await logIn({ cookie: `${name}=attackers-own` })).cookie;
  assert.ok(!made.includes('attackers-own'));
  assert.equal(await isIn(`${name}=attackers-own`), false);
});

test('a cookie that was changed, is for another realm or comes twice is none', async (t) => {
  const { logIn, isIn } = await startStand(t);
  const { cookie } = await logIn();
  const [name, value = ''] = cookie.split('=');
  for (let at = 0; at < value.length; at += 7) {
    const other = value[at] === 'A' ? 'B' : 'A';
    assert.equal(
      await isIn(`${name}=${value.slice(0, at)}${other}${value.slice(at + 1)}`),
      false,
      `character ${at}`,
    );
  }
  assert.equal(await isIn(`${cookie}; ${cookie}`), false);
  assert.equal(await isIn(`ploinky_0123456789abcdef=${value}`), false);
  assert.equal(await isIn(cookie), true, 'the control');
});

test('a session slides in its last half and ends for good after a week', async (t) => {
  const { logIn, ask, isIn, clock } = await startStand(t);
  const { cookie } = await logIn();
  await clock.advance(hour);
  assert.deepEqual(cookiesIn((await ask('/demo/', { cookie })).headers), [], 'the first half');
  await clock.advance(1.5 * hour);
  const renewed = cookieIn((await ask('/demo/', { cookie })).headers);
  assert.notEqual(renewed, '');
  await clock.advance(2 * hour);
  assert.deepEqual([await isIn(cookie), await isIn(renewed)], [false, true]);
  let last = renewed;
  for (let hours = 4.5; hours < 8 * 24; hours += 3) {
    last = cookieIn((await ask('/demo/', { cookie: last })).headers) || last;
    await clock.advance(3 * hour);
  }
  assert.equal(await isIn(last), false);
});

test('a logout, another rev, a disabled and a removed user end sessions', async (t) => {
  const { logIn, ask, isIn, people } = await startStand(t);
  const { cookie } = await logIn();
  assert.equal((await ask('/auth/logout', { cookie })).headers['location'], '/auth/logged-out');
  assert.equal(await isIn(cookie), false, 'kept by who copied it');
  for (const users of [[personNamed('ana', { rev: 2 })], [personNamed('ana', { disabled: true })], []]) {
    people.set([personNamed('ana')]);
    const next = (await logIn()).cookie;
    assert.equal(await isIn(next), true);
    people.set(users);
    assert.equal(await isIn(next), false);
  }
});

test('logging out everywhere ends every session that there was, and none after it', async (t) => {
  const { logIn, isIn, inject, clock } = await startStand(t);
  const cookies = [(await logIn()).cookie, (await logIn()).cookie];
  await inject({
    method: 'POST',
    url: '/auth/logout',
    headers: { host: 'localhost', cookie: cookies[0] ?? '', 'content-type': 'application/json' },
    payload: '{"everywhere":true}',
  });
  for (const cookie of cookies) assert.equal(await isIn(cookie), false);
  await clock.advance(1);
  assert.equal(await isIn((await logIn()).cookie), true);
});

test('a form counts only with the token of the page that this browser was given', async (t) => {
  const { ask, inject } = await startStand(t);
  const page = await ask('/auth/login');
  const cookie = cookieIn(page.headers);
  const token = /name="csrf" value="([\w-]+)"/.exec(page.text)?.[1] ?? '';
  const send = async (csrf: string, headers: Record<string, string>) => {
    const payload = new URLSearchParams({
      username: 'ana',
      password: 'correct horse',
      returnTo: '/demo/',
      csrf,
    });
    const type = 'application/x-www-form-urlencoded';
    const all = { host: 'localhost', 'content-type': type, ...headers };
    const answer = await inject({
      method: 'POST',
      url: '/auth/login',
      headers: all,
      payload: String(payload),
    });
    return answer.headers['location'] ?? answer.statusCode;
  };
  assert.match(String(await send('', { cookie })), /^\/auth\/login\?.*error=/);
  assert.match(String(await send(token, {})), /^\/auth\/login\?.*error=/, 'a token without its cookie');
  assert.equal(await send(token, { cookie, origin: 'http://localhost:81' }), 403);
  assert.equal(await send(token, { cookie, 'sec-fetch-site': 'cross-site' }), 403);
  assert.equal(await send(token, { cookie, origin: 'http://localhost' }), '/demo/', 'the control');
});

test('a link of another site ends no session', async (t) => {
  const { logIn, ask, isIn } = await startStand(t);
  const { cookie } = await logIn();
  assert.equal((await ask('/auth/logout', { cookie, 'sec-fetch-site': 'cross-site' })).status, 200);
  assert.equal(await isIn(cookie), true);
});

test('the pages run no script and cannot be framed, and show nothing of the address unescaped', async (t) => {
  const { ask } = await startStand(t);
  const { text, headers } = await ask(
    `/auth/login?returnTo=/demo/"><script>&error=${encodeURIComponent('<b>you won</b>')}`,
  );
  assert.match(String(headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/);
  assert.doesNotMatch(text, /<script|<b>|you won/);
});

test('a key is its user with at most their roles, until it expires or is revoked', async (t) => {
  const users = [personNamed('ana', { roles: ['viewer', 'writer'] })];
  const keys = [
    { ...key, roles: ['viewer', 'admin'], expires: new Date(Date.now() + 24 * hour).toISOString() },
  ];
  const { ask, people, clock, agents } = await startStand(t, { users, keys });
  const status = async (text: string) => (await ask('/demo/', { authorization: `Bearer ${text}` })).status;
  assert.notEqual(await status(keyText), 401);
  assert.deepEqual(agents[0]?.seen.at(-1)?.claims.usr?.roles, ['viewer']);
  assert.equal(await status(`${keyText.slice(0, -2)}AA`), 401);
  assert.equal(await status(keyText.replace('abcd1234', 'abcd1235')), 401);
  people.set(users, []);
  assert.equal(await status(keyText), 401);
  people.set(users, keys);
  await clock.advance(25 * hour);
  assert.equal(await status(keyText), 401);
});

test('a guest has a name and a role of their own for an hour', async (t) => {
  const { logIn, ask, isIn, clock } = await startStand(t, { mode: 'guest' });
  const { cookie } = await logIn();
  const { user } = JSON.parse((await ask('/auth/token', { cookie })).text) as {
    user: { id: string; roles: string[] };
  };
  assert.match(user.id, /^guest:/);
  assert.deepEqual(user.roles, ['guest']);
  await clock.advance(hour);
  assert.equal(await isIn(cookie), false);
});

test('neither key nor cookie reaches an agent, and nobody else’s word for who calls', async (t) => {
  const { ask, logIn, agents } = await startStand(t, { keys: [key] });
  const { cookie } = await logIn();
  const headers = {
    'x-forwarded-user': 'root',
    'x-user-id': 'root',
    'x-ploinky-user': 'root',
    'remote-user': 'root',
  };
  await ask('/demo/', { ...headers, authorization: `Bearer ${keyText}` });
  await ask('/apis/demo/x', { ...headers, cookie, accept: 'application/json' });
  assert.ok((agents[0]?.seen.length ?? 0) >= 2);
  for (const seen of agents[0]?.seen ?? []) {
    const text = JSON.stringify(seen.headers);
    for (const mark of [keyText, 'plk_', cookie, 'root']) assert.ok(!text.includes(mark), mark);
    assert.equal(seen.claims.usr?.id, 'local:ana');
  }
});

test('an MCP session is its user’s: with another one’s key its id is unknown', async (t) => {
  const other = { ...key, id: 'wxyz9876', user: 'local:bob' };
  const users = [personNamed('ana'), personNamed('bob')];
  const { inject } = await startStand(t, { users, keys: [key, other] });
  const send = async (method: string, text: string, session?: string) => {
    const about = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    const answer = await inject({
      method: 'POST',
      url: '/mcps/demo/mcp',
      headers: {
        ...{ host: 'localhost', 'content-type': 'application/json', authorization: `Bearer ${text}` },
        accept: 'application/json, text/event-stream',
        ...(session !== undefined && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' }),
      },
      payload: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: method === 'initialize' ? about : {},
      }),
    });
    return { status: answer.statusCode, session: String(answer.headers['mcp-session-id']) };
  };
  const { session } = await send('initialize', keyText);
  assert.equal((await send('tools/list', keyText, session)).status, 200, 'the control');
  assert.equal((await send('tools/list', keyText.replace('abcd1234', 'wxyz9876'), session)).status, 404);
});
