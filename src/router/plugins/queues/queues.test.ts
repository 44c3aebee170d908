import assert from 'node:assert/strict';
import { test } from 'node:test';
import { staticRootAnnotation } from '#api/labels.ts';
import { buildRoutingTable } from '#routing/table.ts';
import { agentNamed, routeNamed } from '#routing/testing.ts';
import type { QueueState } from '#wire/queue-state.ts';
import { editablePeople, personNamed } from '../../auth/testing/people.ts';
import { agentOf, startTestRouter } from '../../testing/harness.ts';
import { post } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };
const busy: QueueState = {
  pending: 2,
  running: 1,
  inputRequired: 0,
  finished: { completed: 7, failed: 1, cancelled: 0 },
  oldestWaitMs: 900,
  tasks: [{ tool: 'crunch', runMs: 50, attempt: 1, progress: { progress: 1, total: 2 } }],
};
const idle = { ...busy, pending: 0, running: 0, oldestWaitMs: null, tasks: [] };

async function askQueues(router: Awaited<ReturnType<typeof startTestRouter>>, host = 'localhost') {
  return post(router, undefined, { method: 'GET', path: '/.ploinky/queues', headers: { host } });
}

const names = (json: { agents: { agent: string }[] }) => json.agents.map(({ agent }) => agent);

test('the queues of all agents are told, and which agent gave no answer in time', limits, async (t) => {
  const router = await startTestRouter(
    t,
    [{ name: 'busy', queue: () => busy }, { name: 'idle', queue: () => idle }, { name: 'mute' }],
    { limits: { queueDeadlineMs: 200 } },
  );
  const { status, json, headers } = await askQueues(router);
  assert.equal(status, 200);
  assert.equal(headers['cache-control'], 'no-store');
  const at = { namespace: 'default', instances: 1 };
  assert.deepEqual(json.agents, [
    { ...at, agent: 'busy', answered: 1, queue: busy },
    { ...at, agent: 'idle', answered: 1, queue: idle },
    { ...at, agent: 'mute', answered: 0 },
  ]);
  assert.equal(json.omitted, 0);
});

test('an agent that is not ready is named with the reason and not asked', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'busy', queue: () => busy }]);
  const [fake] = router.agents;
  assert.ok(fake !== undefined);
  router.tables.set([agentOf(fake), agentNamed('away', {})]);
  const { json } = await askQueues(router);
  assert.deepEqual(json.agents[0], {
    ...{ namespace: 'default', agent: 'away', instances: 0, answered: 0, unavailable: 'NotReady' },
  });
});

test('however many look, an agent is asked once in a while', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'busy', queue: () => busy }]);
  await Promise.all(Array.from({ length: 20 }, () => askQueues(router)));
  assert.equal(router.agents[0]?.seen.length, 1);
});

test('of very many agents the first are asked, and how many were not is told', limits, async (t) => {
  const fakes = ['a', 'b', 'c'].map((name) => ({ name, queue: () => idle }));
  const router = await startTestRouter(t, fakes, { limits: { queueAgents: 2 } });
  const { json } = await askQueues(router);
  assert.deepEqual([names(json), json.omitted], [['a', 'b'], 1]);
});

test('at the host of a Route only its agents are told', limits, async (t) => {
  const spec = { selector: {}, hosts: ['far.example.org'], mcp: {} };
  const table = buildRoutingTable({
    agents: [agentNamed('near'), agentNamed('far', { namespace: 'tenant' })],
    routes: [routeNamed('r', spec, { namespace: 'tenant' })],
    homeNamespace: 'default',
    hostClaims: { tenant: ['*.example.org'] },
  });
  const tables = { synced: true, current: () => table, subscribe: () => () => undefined };
  const router = await startTestRouter(t, [], { tables });
  assert.deepEqual(names((await askQueues(router)).json), ['near']);
  assert.deepEqual(names((await askQueues(router, 'far.example.org')).json), ['far']);
});

test('what agents say that is no queue is no answer', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'odd', queue: () => ['x'] }]);
  const { json } = await askQueues(router);
  assert.equal(json.agents[0].answered, 0);
});

test('a task is told by its id, whether or not a Route leads to its agent', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const ask = (query: string) => post(router, undefined, { method: 'GET', path: `/.ploinky/task?${query}` });
  const found = await ask('agent=default/demo&taskId=0123456789abcdef');
  assert.deepEqual([found.status, found.json.task.id], [200, '0123456789abcdef']);
  assert.equal((await ask('agent=default/demo')).status, 400);
  for (const agent of ['default/none', 'demo', '']) {
    const missing = await ask(`agent=${agent}&taskId=0123456789abcdef`);
    assert.deepEqual([missing.status, missing.json], [404, { error: 'task not found' }], agent);
  }
});

test(
  'an agent that asks who comes in, or whose Routes do, tells its tasks to whom it admits',
  limits,
  async (t) => {
    const people = editablePeople('default/demo-users', [personNamed('ana')]);
    const router = await startTestRouter(t, [{ name: 'demo' }], { people });
    const [fake] = router.agents;
    assert.ok(fake !== undefined);
    const agent = agentOf(fake);
    const auth = { mode: 'pwd', usersSecretRef: { name: 'demo-users' } } as const;
    const guarded = { ...agent, spec: { ...agent.spec, auth } };
    const ask = (headers = {}, query = 'agent=default/demo&taskId=0123456789abcdef') =>
      post(router, undefined, { method: 'GET', path: `/.ploinky/task?${query}`, headers });

    assert.equal((await ask()).status, 200, 'the control: it asks nothing');
    router.tables.set([guarded]);
    const refused = await ask();
    assert.deepEqual([refused.status, refused.json.error], [401, 'not_authenticated']);
    assert.equal((await ask({ accept: 'text/html' })).status, 401);
    assert.equal((await ask({ cookie: 'ploinky_0=x', authorization: 'Bearer plk_x' })).status, 401);
    assert.equal(fake.seen.length, 1, 'nobody asked it but the first');
    const login = await post(
      router,
      { username: 'ana', password: 'correct horse', agent: 'demo' },
      { path: '/auth/login', headers: { accept: 'application/json' } },
    );
    const cookie = String(login.headers['set-cookie']).split(';')[0];
    assert.equal((await ask({ cookie })).json.task.id, '0123456789abcdef');
  },
);

test(
  'an agent that is served at "/" changes nothing of who may ask at the router’s own paths',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'site' }]);
    const [demo, site] = router.agents.map((fake) => agentOf(fake));
    assert.ok(demo !== undefined && site !== undefined);
    const auth = { mode: 'pwd', usersSecretRef: { name: 'demo-users' } } as const;
    const guarded = (agent: typeof demo) => ({ ...agent, spec: { ...agent.spec, auth } });
    const root = (agent: typeof demo) => ({
      ...agent,
      metadata: { ...agent.metadata, annotations: { [staticRootAnnotation]: 'true' } },
    });
    const ask = async (path: string) => (await post(router, undefined, { method: 'GET', path })).status;
    const task = '/.ploinky/task?agent=default/demo&taskId=0123456789abcdef';
    router.tables.set([guarded(demo), root(site)]);
    assert.equal(await ask(task), 401);
    router.tables.set([demo, root(guarded(site))]);
    assert.equal(await ask('/'), 401, 'the control: the root asks');
    for (const path of [task, '/.ploinky/queues', '/health', '/metrics'])
      assert.equal(await ask(path), 200, path);
  },
);

test(
  'where only Routes lead to an agent, one of them has to admit who asks for a task',
  limits,
  async (t) => {
    const auth = { mode: 'pwd', usersSecretRef: { name: 'demo-users' } } as const;
    const to = (host: string, more: object) =>
      routeNamed(
        host,
        { selector: {}, hosts: [`${host}.example.org`], mcp: {}, ...more },
        { namespace: 'tenant' },
      );
    const ask = async (routes: readonly ReturnType<typeof to>[]) => {
      const table = buildRoutingTable({
        agents: [agentNamed('far', { namespace: 'tenant' })],
        routes,
        homeNamespace: 'default',
        hostClaims: { tenant: ['*.example.org'] },
      });
      const tables = { synced: true, current: () => table, subscribe: () => () => undefined };
      const router = await startTestRouter(t, [], { tables, limits: { readyWaitMs: 50 } });
      const path = '/.ploinky/task?agent=tenant/far&taskId=0123456789abcdef';
      return (await post(router, undefined, { method: 'GET', path })).status;
    };
    assert.equal(await ask([to('a', { auth }), to('b', { auth })]), 401);
    assert.equal(await ask([to('a', { auth }), to('b', {})]), 404, 'one asks nothing, and the agent is away');
    assert.equal(await ask([]), 404, 'none leads there');
  },
);
