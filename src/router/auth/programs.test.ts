import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { agentOf, startTestRouter } from '../testing/harness.ts';
import { editablePeople, personNamed } from './testing/people.ts';

const unknown = `plk_abcd1234_${'A'.repeat(43)}`;

/** A router in front of `demo`, which asks, and `open`, which does not. */
async function startStand(t: TestContext, { mode }: { readonly mode: 'pwd' | 'guest' } = { mode: 'pwd' }) {
  const people = editablePeople('default/demo-users', [personNamed('ana')]);
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'open' }], { people });
  const [demo, open] = router.agents;
  if (demo === undefined || open === undefined) throw new Error('no agents');
  const agent = agentOf(demo);
  router.tables.set([{ ...agent, spec: { ...agent.spec, auth: { mode } } }, agentOf(open)]);
  const ask = async (url: string, headers: Record<string, string> = {}) => {
    const answer = await router.inject({ method: 'GET', url, headers: { host: 'localhost', ...headers } });
    return { status: answer.statusCode, headers: answer.headers, text: answer.body };
  };
  return { ...router, ask };
}

test('what says that it is a key and is none is a bad credential wherever somebody asks', async (t) => {
  for (const mode of ['pwd', 'guest'] as const) {
    const { ask } = await startStand(t, { mode });
    for (const bad of ['plk_', 'plk_short', `${unknown}A`, unknown]) {
      const answer = await ask('/apis/demo/x', { authorization: `Bearer ${bad}` });
      assert.deepEqual(
        [answer.status, JSON.parse(answer.text).error],
        [401, 'invalid_token'],
        `${mode} ${bad}`,
      );
    }
    const without = await ask('/apis/demo/x', { accept: 'application/json' });
    assert.equal(JSON.parse(without.text).error, 'not_authenticated', 'the control');
    const open = await ask('/apis/open/x', { authorization: 'Bearer plk_' });
    assert.notEqual(open.status, 401, 'nobody asks, nobody looks');
  }
});

test('who sends JSON gets JSON back without asking for it', async (t) => {
  const { inject } = await startStand(t);
  const logIn = async (password: string, accept: string) => {
    const answer = await inject({
      method: 'POST',
      url: '/auth/login',
      headers: { host: 'localhost', 'content-type': 'application/json', ...(accept && { accept }) },
      payload: JSON.stringify({ username: 'ana', password }),
    });
    return [answer.statusCode, answer.statusCode === 302 ? 'redirect' : JSON.parse(answer.body).error];
  };
  for (const accept of ['', '*/*']) {
    assert.deepEqual(await logIn('wrong', accept), [401, 'invalid_credentials']);
    assert.deepEqual(await logIn('correct horse', accept), [200, undefined]);
  }
  assert.deepEqual(await logIn('correct horse', 'text/html'), [302, 'redirect'], 'the control');
});

test('the account page comes back to itself after a login', async (t) => {
  const { ask } = await startStand(t);
  const { status, headers } = await ask('/auth/account', { accept: 'text/html' });
  assert.deepEqual([status, headers['location']], [302, '/auth/login?returnTo=%2Fauth%2Faccount']);
});
