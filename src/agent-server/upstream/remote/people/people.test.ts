import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { until } from '#test/fixtures/fake-clock.ts';
import { contextOf, type PeoplePlace, peoplePlace } from './testing.ts';
import { userOf } from './user-of.ts';

const bounded = { timeout: 60_000 };
const users = ['alice', 'bob'] as const;
const page = 'http://127.0.0.1:8080/auth/upstream/default/demo';

function textOf({ content }: Result): unknown {
  return (content as { text: string }[])[0]?.text;
}

async function refusalOf(pending: Promise<unknown>): Promise<RpcError> {
  const error = await pending.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof RpcError, String(error));
  return error;
}

/** How many of so many calls, of both users and at once, were answered as somebody else. */
async function crossings({ call }: PeoplePlace, count: number): Promise<number> {
  let crossed = 0;
  const work = Array.from({ length: count }, (_, index) => users[index % users.length] ?? 'alice');
  const lanes = Array.from({ length: 16 }, async () => {
    for (let user = work.shift(); user !== undefined; user = work.shift())
      if (textOf(await call(user, 'whoami')) !== user) crossed += 1;
  });
  await Promise.all(lanes);
  return crossed;
}

test(
  'of 1,000 calls of two people at once each is made with the token and in the session of its own person',
  bounded,
  async (t) => {
    const place = await peoplePlace(t);
    for (const user of users) await place.logIn(user);
    assert.equal(await crossings(place, 1_000), 0);
    assert.equal(place.remote.counts.calls, 1_000);
    assert.equal(place.remote.crossed, 0);
    assert.equal(place.remote.counts.registrations, 1, 'one client serves all people');
  },
);

test('where people share what is held of one, their calls do cross', bounded, async (t) => {
  const place = await peoplePlace(t, { people: (people) => ({ get: () => people.get('shared') }) });
  await place.logIn('alice');
  assert.equal(await crossings(place, 100), 50);
});

test(
  'whoever has not logged in is told where, in the words of their revision, and nothing is asked for them',
  bounded,
  async (t) => {
    const { call, remote, logIn } = await peoplePlace(t);
    await logIn('alice');
    const refused = await refusalOf(call('bob', 'whoami'));
    assert.equal(refused.code, -32042);
    const { elicitations } = refused.data as { elicitations: Record<string, unknown>[] };
    assert.deepEqual([elicitations[0]?.['mode'], elicitations[0]?.['url']], ['url', page]);
    const stateless = { era: 'stateless', revision: '2026-07-28' } as const;
    const asked = await call('bob', 'whoami', { ...stateless, capabilities: { elicitation: { url: {} } } });
    assert.equal(asked['resultType'], 'input_required');
    assert.match(JSON.stringify(asked['inputRequests']), new RegExp(page));
    const plain = await refusalOf(call('bob', 'whoami', stateless));
    assert.match(plain.message, new RegExp(page));
    assert.equal(remote.counts.calls, 0);
  },
);

test('whom nobody knows is told that the Agent needs an auth mode', bounded, async (t) => {
  const { call, logIn } = await peoplePlace(t);
  await logIn('alice');
  assert.match((await refusalOf(call(undefined, 'whoami'))).message, /needs an auth mode/);
});

test('a login that somebody else began ends nowhere', bounded, async (t) => {
  const { comeBack, logins, call } = await peoplePlace(t);
  const { searchParams } = await comeBack('mallory', 'victim');
  const finish = (user: string) =>
    logins(userOf(contextOf(user)), { action: 'finish', query: searchParams.toString() });
  await assert.rejects(finish('alice'), /not the answer to a login that you began/);
  assert.equal((await refusalOf(call('alice', 'whoami'))).code, -32042);
  await finish('mallory');
  assert.equal(textOf(await call('mallory', 'whoami')), 'victim', 'the control: for who began it, it does');
  await assert.rejects(finish('mallory'), /not the answer to a login/, 'and once');
});

test('an answer of another authorization server is refused', bounded, async (t) => {
  const { comeBack, logins } = await peoplePlace(t);
  const { searchParams } = await comeBack('alice', 'alice');
  searchParams.set('iss', 'https://other.test');
  const query = searchParams.toString();
  await assert.rejects(logins(userOf(contextOf('alice')), { action: 'finish', query }), /not the one of/);
});

test(
  'before anybody has logged in there is a tool that leads there, afterwards those of the server without its resources',
  bounded,
  async (t) => {
    const { source, call, logIn } = await peoplePlace(t);
    assert.deepEqual(
      source.catalog.tools.map(({ name }) => name),
      ['log_in'],
    );
    assert.equal((await refusalOf(call('alice', 'log_in'))).code, -32042);
    await logIn('alice');
    await until(() => source.catalog.tools.length === 2, 'the tools of the server');
    assert.deepEqual(source.catalog.resources, []);
  },
);

test('tokens are renewed before they end, and a refused refresh token ends the login', bounded, async (t) => {
  const { remote, call, logIn } = await peoplePlace(t);
  remote.life = 1;
  await logIn('alice');
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  assert.equal(textOf(await call('alice', 'whoami')), 'alice');
  assert.ok(remote.counts.refreshes >= 1);
  remote.tokens.clear();
  remote.refreshTokens.clear();
  assert.equal((await refusalOf(call('alice', 'whoami'))).code, -32042);
  await logIn('alice');
  assert.equal(textOf(await call('alice', 'whoami')), 'alice');
});

test(
  'a tool that wants more scopes leads to a login that asks for them beside the old ones',
  bounded,
  async (t) => {
    const { remote, call, logIn, logins } = await peoplePlace(t);
    await logIn('alice');
    assert.equal(remote.scopeOf.get('alice'), 'read');
    assert.equal((await refusalOf(call('alice', 'write'))).code, -32042);
    assert.equal(textOf(await call('alice', 'whoami')), 'alice', 'the others go on');
    const look = () => logins(userOf(contextOf('alice')), { action: 'look' });
    assert.equal((await look()).isLoggedIn, false, 'the page leads there');
    await logIn('alice');
    assert.equal(remote.scopeOf.get('alice'), 'read write');
    assert.equal(textOf(await call('alice', 'write')), 'alice');
    assert.equal((await look()).isLoggedIn, true);
  },
);

test(
  'logins survive a restart, sealed: no token is on disk in clear, and another key opens nothing',
  bounded,
  async (t) => {
    const place = await peoplePlace(t);
    await place.logIn('alice');
    assert.equal(textOf(await place.call('alice', 'whoami')), 'alice');
    await place.source.close();
    const folder = join(place.folder, 'logins');
    const files = await readdir(folder);
    assert.ok(files.length >= 2, files.join());
    const kept = (await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))).join();
    for (const token of [...place.remote.tokens.keys(), ...place.remote.refreshTokens.keys(), 'alice'])
      assert.ok(!kept.includes(token) && !kept.includes(Buffer.from(token).toString('base64url')));
    await place.source.close();
    const again = await peoplePlace(t, { before: place });
    assert.equal(textOf(await again.call('alice', 'whoami')), 'alice');
    const stranger = await peoplePlace(t, { before: place, uid: 'z' });
    assert.equal((await refusalOf(stranger.call('alice', 'whoami'))).code, -32042);
  },
);

test('who logs out is logged out at the server too', bounded, async (t) => {
  const { remote, logins, call, logIn } = await peoplePlace(t);
  for (const user of users) await logIn(user);
  await logins(userOf(contextOf('alice')), { action: 'end' });
  assert.equal(remote.counts.revocations, 1);
  assert.equal((await refusalOf(call('alice', 'whoami'))).code, -32042);
  assert.equal(textOf(await call('bob', 'whoami')), 'bob');
});

test('a person of an issuer is one however they show it, and nobody of another realm is that person', () => {
  const nameIn = (realm: string) => {
    const { claims } = contextOf('https://idp.test#1');
    return userOf({ claims: claims && { ...claims, usr: claims.usr && { ...claims.usr, realm } } });
  };
  assert.equal(nameIn('https://idp.test client'), nameIn('https://idp.test'));
  assert.notEqual(nameIn('https://other.test client'), nameIn('https://idp.test'));
  assert.notEqual(nameIn('default/people'), nameIn('https://idp.test'));
  assert.notEqual(nameIn('other/people'), nameIn('default/people'));
});

test(
  'a call that says that its person goes to log in waits for that, and one whose person does not want to is over',
  bounded,
  async (t) => {
    const { call, logIn, source } = await peoplePlace(t);
    await logIn('bob');
    const capabilities = { elicitation: { url: {} } };
    const stateless = {
      ...contextOf('alice'),
      era: 'stateless',
      revision: '2026-07-28',
      capabilities,
    } as const;
    const retry = (action: string) =>
      source.request(
        'tools/call',
        { name: 'whoami', arguments: {}, inputResponses: { 'ploinky-login': { action } } },
        stateless,
      );
    assert.equal((await call('alice', 'whoami', stateless))['resultType'], 'input_required');
    const waiting = retry('accept');
    assert.match((await refusalOf(retry('decline'))).message, /Log in at/);
    await logIn('alice');
    assert.equal(textOf(await waiting), 'alice');
  },
);
