import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routeNamed } from '#routing/testing.ts';
import { agentOf, startTestRouter } from '../testing/harness.ts';
import { editablePeople, personNamed } from './testing/people.ts';

const open = 'https://agents.example.org';
const own = 'team.example.org';

/** What a page of `origin` gets that writes at a host with the cookie of who is logged in there. */
async function stand(t: Parameters<typeof startTestRouter>[0], publicOrigin: string | undefined) {
  const people = editablePeople('default/team-users', [personNamed('ana')]);
  const router = await startTestRouter(t, [{ name: 'demo' }], {
    ...{ people, allowedHosts: ['agents.example.org'] },
    auth: { ...(publicOrigin !== undefined && { publicOrigin }) },
  });
  const auth = { mode: 'pwd' as const, usersSecretRef: { name: 'team-users' } };
  const api = { path: '/apis' };
  const routes = [
    routeNamed('team', { selector: {}, hosts: [own], api, auth }),
    routeNamed('all', { selector: {}, paths: ['/all'], api, auth }),
  ];
  router.tables.set(
    router.agents.map((fake) => {
      const agent = agentOf(fake);
      return { ...agent, spec: { ...agent.spec, auth } };
    }),
    routes,
  );
  const logged = await router.inject({
    method: 'POST',
    url: '/auth/login?returnTo=/all/apis/demo/x',
    headers: { host: 'localhost', accept: 'application/json', 'content-type': 'application/json' },
    payload: JSON.stringify({ username: 'ana', password: 'correct horse' }),
  });
  const cookie = String(logged.headers['set-cookie']).split(';')[0] ?? '';
  const raw = (host: string, url: string, origin: string, method: 'GET' | 'POST') =>
    router.inject({ method, url, headers: { host, origin, cookie } });
  const ask = async (host: string, url: string, origin: string) => {
    const answer = await raw(host, url, origin, 'POST');
    return answer.statusCode === 403 ? 'foreign' : answer.statusCode === 401 ? 'nobody' : 'own';
  };
  return Object.assign(ask, { raw });
}

test('a page at the public URL may not write at a Route with a host of its own', async (t) => {
  const ask = await stand(t, open);
  assert.equal(await ask(own, '/apis/demo/x', open), 'foreign');
  assert.equal(await ask(own, '/apis/demo/x', `https://${own}`), 'own', 'the control');
  assert.equal(await ask('agents.example.org', '/all/apis/demo/x', open), 'own');
  // A proxy that asks under another name is there for the public URL.
  assert.equal(await ask('localhost', '/all/apis/demo/x', open), 'own');
});

test('whatever is asked at a host that a Route has, a page at the public URL is foreign there', async (t) => {
  const ask = await stand(t, open);
  // Of no Route with a host: what every host shows, and the pages of logins.
  for (const url of ['/mcp', '/auth/logout', '/auth/token']) {
    assert.equal(await ask(own, url, open), 'foreign', url);
    assert.notEqual(await ask('agents.example.org', url, open), 'foreign', url);
  }
  assert.equal((await ask.raw(own, '/auth/logout', open, 'GET')).statusCode, 200, 'it is asked first');
  assert.equal(await ask(own, '/apis/demo/x', `https://${own}`), 'own', 'still logged in');
  assert.equal((await ask.raw(own, '/auth/logout', `https://${own}`, 'GET')).statusCode, 302, 'the control');
  assert.equal(await ask(own, '/apis/demo/x', `https://${own}`), 'nobody');
});

test('a page that came in clear may not write where browsers come by https', async (t) => {
  const ask = await stand(t, open);
  assert.equal(await ask(own, '/apis/demo/x', `http://${own}`), 'foreign');
  assert.equal(await ask('agents.example.org', '/all/apis/demo/x', 'http://agents.example.org'), 'foreign');
  assert.equal(await ask('localhost', '/all/apis/demo/x', 'http://localhost'), 'own', 'this very machine');
  const clear = await stand(t, undefined);
  assert.equal(await clear(own, '/apis/demo/x', `http://${own}`), 'own', 'the control');
});
