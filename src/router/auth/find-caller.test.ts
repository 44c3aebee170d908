import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { routeNamed } from '#routing/testing.ts';
import { agentOf, startTestRouter } from '../testing/harness.ts';
import { openSession, post, request } from '../testing/mcp-client.ts';
import { editablePeople, personNamed } from './testing/people.ts';

const limits = { timeout: 30_000 };
const json = { host: 'localhost', 'content-type': 'application/json', accept: 'application/json' };

/** Two Routes that let guests in, before an agent that asks for a password: with others, and alone. */
async function stand(t: TestContext) {
  const people = editablePeople('default/demo-users', [personNamed('ana')]);
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'open' }], { people });
  const [demo, open] = router.agents.map((agent) => agentOf(agent));
  if (demo === undefined || open === undefined) throw new Error('no agents');
  const guests = { auth: { mode: 'guest' as const } };
  router.tables.set(
    [{ ...demo, spec: { ...demo.spec, auth: { mode: 'pwd' } } }, open],
    [
      routeNamed('team', { selector: {}, paths: ['/team'], mcp: {}, ...guests }),
      routeNamed('alone', {
        ...{ agents: [{ name: 'demo' }], paths: ['/alone'], mcp: { mode: 'Single' } },
        ...guests,
      }),
    ],
  );
  const logIn = async (body: object, cookie = '') => {
    const payload = JSON.stringify({ ...body, returnTo: '/team/mcp' });
    const answer = await router.inject({
      ...{ method: 'POST', url: '/auth/login', headers: { ...json, cookie }, payload },
    });
    assert.equal(answer.statusCode, 200, answer.body);
    return String(answer.headers['set-cookie']).split(';')[0] ?? '';
  };
  const tools = async (cookie: string) => {
    const headers = await openSession(router, '/team/mcp', { cookie });
    const reply = await post(router, request('tools/list', {}), { path: '/team/mcp', headers });
    return reply.json.result.tools.length as number;
  };
  const alone = async (cookie: string) => {
    const headers = { cookie, accept: 'application/json, text/event-stream' };
    const about = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    return (await post(router, request('initialize', about), { path: '/alone/mcp', headers })).status;
  };
  const logOut = (cookie: string) =>
    router.inject({ method: 'POST', url: '/auth/logout', headers: { ...json, cookie }, payload: '{}' });
  return { logIn, logOut, tools, alone };
}

test('who is a guest and logged in besides counts as who is logged in', limits, async (t) => {
  const { logIn, tools, alone } = await stand(t);
  const guest = await logIn({});
  assert.deepEqual([await tools(guest), await alone(guest)], [3, 401], 'the control');
  const ana = await logIn({ username: 'ana', password: 'correct horse' }, guest);
  assert.notEqual(ana.split('=')[0], guest.split('=')[0]);
  for (const cookie of [ana, `${guest}; ${ana}`, `${ana}; ${guest}`])
    assert.deepEqual([await tools(cookie), await alone(cookie)], [6, 200], cookie);
});

test('a logout ends every login that the browser has at the host', limits, async (t) => {
  const { logIn, logOut, tools, alone } = await stand(t);
  const guest = await logIn({});
  const ana = await logIn({ username: 'ana', password: 'correct horse' }, guest);
  assert.equal(await tools(guest), 3, 'the control');
  await logOut(`${guest}; ${ana}`);
  for (const cookie of [guest, ana]) {
    assert.equal(await alone(cookie), 401);
    await assert.rejects(tools(cookie), /401/);
  }
});
