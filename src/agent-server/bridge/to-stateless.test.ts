import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../testing/harness.ts';
import { accept, sessionClient, startAgent, textOf, transports } from './testing.ts';

// Clients with sessions of a server of 2026-07-28. Names in brackets are rows of docs/bridging.md.

const limits = { timeout: 15_000 };
const canAll = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };

for (const transport of transports) {
  test(
    `over ${transport}, what a tool asks in its result is asked on the call’s stream (A2)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, '2026', transport);
      const client = await sessionClient(agent, canAll);
      const meet = client.call('meet');
      const question = await meet.next();
      assert.equal(question.method, 'elicitation/create');
      assert.equal(question.params?.['message'], 'Your name?');
      await client.answer(question.id, accept('name', 'Ana'));
      assert.equal(textOf(await meet.next()), 'Hello, Ana!');

      const both = client.call('both');
      const [first, second] = [await both.next(), await both.next()];
      assert.deepEqual([first.method, second.method], ['sampling/createMessage', 'roots/list']);
      await client.answer(second.id, { roots: [{ uri: 'file:///a' }] });
      await client.answer(first.id, {
        role: 'assistant',
        content: { type: 'text', text: 'Paris' },
        model: 'm',
      });
      assert.equal(textOf(await both.next()), 'Paris in [{"uri":"file:///a"}]');

      const twice = client.call('twice');
      await client.answer((await twice.next()).id, accept('name', 'Ana'));
      await client.answer((await twice.next()).id, accept('color', 'blue'));
      assert.equal(textOf(await twice.next()), 'Ana likes blue');

      const endless = await client.call('endless').next();
      assert.equal(endless.error?.code, -32_603);
      assert.match(endless.error?.message ?? '', /more than 8 times/);
    },
  );

  test(
    `over ${transport}, a URL to visit gets an id (A8), and refusals end the call (A7, A12, A15)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, '2026', transport);
      const client = await sessionClient(agent, canAll);
      const visit = client.call('visit');
      const question = await visit.next();
      assert.match(String(question.params?.['elicitationId']), /^[0-9a-f-]{36}$/);
      await client.answer(question.id, { action: 'accept' });
      assert.equal(textOf(await visit.next()), 'visited: accept');

      const meet = client.call('meet');
      await client.refuse((await meet.next()).id, { code: -1, message: 'User rejected' });
      const refused = (await meet.next()).error ?? assert.fail('not refused');
      assert.deepEqual([refused.code, refused.data], [-32_603, { code: -1, message: 'User rejected' }]);

      const mute = await sessionClient(agent, { elicitation: {} });
      assert.equal((await mute.call('undeclared').next()).error?.code, -32_603);
      const plain = await agent.post(
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'meet' } },
        { 'mcp-session-id': client.session, accept: 'application/json' },
      );
      assert.equal(plain.json.error.code, -32_603);
    },
  );

  test(
    `over ${transport}, the session’s capabilities and log level go with each call (A1, R8)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, '2026', transport);
      const client = await sessionClient(agent, { ...canAll, experimental: {} });
      const known = async () => JSON.parse(textOf((await client.call('whoami').all()).at(-1) ?? {}));
      const { capabilities, logLevel } = await known();
      assert.deepEqual([capabilities, logLevel], [{ ...canAll, roots: {} }, 'info']);
      const heard = await client.call('steps', {}, { _meta: { progressToken: 'p' } }).all();
      assert.deepEqual(
        heard.map(({ params }) => params?.['progress'] ?? params?.['data']),
        [1, 'info 1', 2, 'info 2', undefined],
      );
      assert.equal(heard[0]?.params?.['progressToken'], 'p');
      await client.request('logging/setLevel', { level: 'debug' }).all();
      assert.equal((await known()).logLevel, 'debug');
      const louder = await client.call('steps').all();
      assert.deepEqual(louder.map(({ params }) => params?.['data']).slice(0, 2), ['debug 1', 'info 1']);
    },
  );

  test(
    `over ${transport}, the rest of 2026-07-28 has the form of 2025 (R3, R4, R10, R14, R1, R2)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, '2026', transport);
      const client = await sessionClient(agent);
      const { result = {} } = await client.call('list').next();
      assert.deepEqual(result, { content: [{ type: 'text', text: '[1,2]' }] });
      const listed = (await client.request('tools/list').next()).result ?? {};
      assert.deepEqual(Object.keys(listed), ['tools']);
      const tool = (listed['tools'] as { name: string }[]).find(({ name }) => name === 'list');
      assert.deepEqual(tool, { name: 'list', inputSchema: { type: 'object' } });
      assert.equal((await client.request('resources/read', { uri: 'test://b' }).next()).error?.code, -32_002);
      const read = await client.request('resources/read', { uri: 'test://a' }).next();
      assert.deepEqual(read.result, { contents: [{ uri: 'test://a', text: 'content' }] });
      assert.deepEqual((await client.request('prompts/get', { name: 'hello' }).next()).result, {
        messages: [],
      });
      assert.deepEqual((await client.request('completion/complete', {}).next()).result, {
        completion: { values: ['paris'] },
      });
      const tasks = (await client.call('wants-tasks').next()).error;
      assert.deepEqual([tasks?.code, tasks?.message], [-32_603, 'Needs tasks']);
      assert.equal((await client.request('tasks/list').next()).error?.code, -32_601);
    },
  );

  test(
    `over ${transport}, cancelling reaches the server, and disconnecting does not (R7)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, '2026', transport);
      const client = await sessionClient(agent);
      const count = async () => textOf(await client.call('count').next());
      const left = client.call('hang');
      await eventually('it runs', async () => (await count()).includes('1 hanging'));
      left.abort();
      await left.status().catch(() => undefined);
      const hang = client.call('hang');
      const id = client.lastId;
      await eventually('both run', async () => (await count()).includes('2 hanging, 0 cancelled'));
      await client.cancel(id);
      await eventually('one is cancelled', async () => (await count()).includes('1 hanging, 1 cancelled'));
      await hang.all();
    },
  );

  test(
    `over ${transport}, changes of lists and resources reach the session’s stream (N1, N2)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, '2026', transport);
      const client = await sessionClient(agent);
      const stream = client.listen();
      assert.equal(await stream.status(), 200);
      await client.call('grow').all();
      assert.equal((await stream.next()).method, 'notifications/tools/list_changed');
      const listed = (await client.request('tools/list').next()).result ?? {};
      assert.ok((listed['tools'] as { name: string }[]).some(({ name }) => name === 'grown'));
      assert.deepEqual((await client.request('resources/subscribe', { uri: 'test://a' }).next()).result, {});
      const refused = await client.request('resources/subscribe', { uri: 'test://refused' }).next();
      assert.equal(refused.error?.code, -32_602);
      await client.call('touch', { uri: 'test://b' }).all();
      await client.call('touch', { uri: 'test://a' }).all();
      const { method, params } = await stream.next();
      assert.deepEqual([method, params], ['notifications/resources/updated', { uri: 'test://a' }]);
      stream.abort();
    },
  );
}

test(
  'a call whose process ended while its client was asked goes on in the next one (E2)',
  limits,
  async (t) => {
    const agent = await startAgent(t, '2026', 'stdio');
    const [ana, ben] = [await sessionClient(agent, canAll), await sessionClient(agent)];
    const meet = ana.call('meet');
    const question = await meet.next();
    await ben.call('crash').all();
    await ana.answer(question.id, accept('name', 'Ana'));
    assert.equal(textOf(await meet.next()), 'Hello, Ana!');
  },
);

test('a client that does not answer in time ends its call (A4)', limits, async (t) => {
  const agent = await startAgent(t, '2026', 'stdio', { parkTtlMs: 300 });
  const meet = (await sessionClient(agent, canAll)).call('meet');
  const question = await meet.next();
  const withdrawn = await meet.next();
  assert.equal(withdrawn.method, 'notifications/cancelled');
  assert.equal(withdrawn.params?.['requestId'], question.id);
  assert.match((await meet.next()).error?.message ?? '', /did not answer in time/);
});
