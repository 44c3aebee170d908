import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '#kit/random.ts';
import { deriveAgentKey, deriveSubkey } from '#wire/keys.ts';
import { mintInvocation } from '#wire/token.ts';
import { agentOf, master, startTestRouter } from '../../testing/harness.ts';

const limits = { timeout: 30_000 };
const id = 'a'.repeat(48);

test('whoever has not logged in gets and gives no files where the agent asks for it', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const [demo] = router.agents;
  assert.ok(demo !== undefined);
  const open = agentOf(demo);
  const guarded = { ...open, spec: { ...open.spec, auth: { mode: 'pwd' as const } } };
  router.tables.set([guarded]);
  const base = await router.listen();
  const ways = [
    ['GET', `/blobs/demo/${id}`],
    ['GET', '/blobs/demo'],
    ['POST', '/blobs/demo'],
    ['DELETE', `/blobs/demo/${id}`],
  ] as const;
  for (const [method, path] of ways) {
    const answer = await fetch(base + path, { method, redirect: 'manual' });
    assert.equal(answer.status, 401, `${method} ${path}`);
    assert.equal(((await answer.json()) as { error: string }).error, 'not_authenticated');
  }
  assert.deepEqual(demo.seen, []);
  router.tables.set([open]);
  await fetch(`${base}/blobs/demo/${id}`);
  assert.equal(demo.seen.length + demo.refused.length, 1, 'control: without it the agent is asked');
});

test('ids and methods that cannot be are refused without the agent', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const base = await router.listen();
  const status = async (method: string, path: string) => (await fetch(base + path, { method })).status;
  assert.equal(await status('GET', '/blobs/demo/short'), 400);
  assert.equal(await status('GET', `/blobs/demo/${id}/more`), 400);
  assert.equal(await status('PUT', `/blobs/demo/${id}`), 405);
  assert.equal(await status('DELETE', '/blobs/demo'), 405);
  assert.deepEqual(router.agents[0]?.seen, []);
});

test(
  'whom a scope limits may give files and take those it knows the id of, and no more',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'other' }]);
    const [demo] = router.agents;
    assert.ok(demo !== undefined);
    const base = await router.listen();
    const token = mintInvocation(deriveAgentKey(master, demo.identity), {
      ...{ agent: demo.identity, instance: demo.instance, caller: 'router:first-party' },
      user: { sub: 'u', id: 'u', email: '', username: 'u', roles: [] },
      call: { tool: 'anything', arguments: {} },
      ...{ now: Date.now(), random: systemRandom, delegation: deriveSubkey(master, 'delegation') },
    });
    const refused = async (method: string, path: string, scopes?: string) => {
      const headers = { 'x-ploinky-caller-jwt': token, ...(scopes && { 'x-ploinky-scopes': scopes }) };
      return (await fetch(`${base}/blobs/other${path}`, { method, headers })).status === 403;
    };
    for (const [method, path] of [
      ['DELETE', `/${id}`],
      ['GET', ''],
      ['HEAD', ''],
    ] as const) {
      assert.ok(await refused(method, path, 'reports:read'), method);
      assert.ok(!(await refused(method, path, 'reports:read blobs')), method);
      assert.ok(!(await refused(method, path)), `control: ${method} of whom nothing limits`);
    }
    assert.ok(!(await refused('GET', `/${id}`, 'reports:read')));
    assert.ok(!(await refused('POST', '', 'reports:read')));
  },
);

test('where an upload is found is said as clients see the router', limits, async (t) => {
  const urls = [];
  for (const publicOrigin of ['https://agents.example', undefined]) {
    const router = await startTestRouter(t, [{ name: 'demo' }], { auth: { publicOrigin } });
    const base = await router.listen();
    await fetch(`${base}/blobs/demo`, { method: 'POST' });
    urls.push(
      router.agents[0]?.seen.at(-1)?.headers['x-ploinky-blobs-url']?.toString().replace(base, 'BASE'),
    );
  }
  assert.deepEqual(urls, ['https://agents.example/blobs/demo', 'BASE/blobs/demo']);
});
