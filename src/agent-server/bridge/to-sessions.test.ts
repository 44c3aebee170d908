import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../testing/harness.ts';
import { accept, askedIn, startAgent, statelessClient, textOf, transports } from './testing.ts';

// Clients of 2026-07-28 of a server with sessions. Names in brackets are rows of docs/bridging.md.

const limits = { timeout: 15_000 };
const canAll = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

for (const transport of transports) {
  test(`over ${transport}, what the server asks becomes the call’s result (A2)`, limits, async (t) => {
    const agent = await startAgent(t, '2025', transport);
    const client = statelessClient(agent, canAll);
    const first = askedIn(await client.call('meet').next());
    assert.deepEqual(
      first.requests.map(({ method, params }) => [method, params?.['message']]),
      [['elicitation/create', 'Your name?']],
    );
    const responses = { [String(first.keys[0])]: accept('name', 'Ana') };
    const more = { inputResponses: responses, requestState: first.state };
    assert.equal(textOf(await client.call('meet', {}, more).next()), 'Hello, Ana!');

    let asked = askedIn(await client.call('twice').next());
    for (const [field, value] of [['name', 'Ana']] as const) {
      const inputResponses = { [String(asked.keys[0])]: accept(field, value) };
      asked = askedIn(await client.call('twice', {}, { inputResponses, requestState: asked.state }).next());
    }
    const inputResponses = { [String(asked.keys[0])]: accept('color', 'blue') };
    const last = await client.call('twice', {}, { inputResponses, requestState: asked.state }).next();
    assert.equal(textOf(last), 'Ana likes blue');
    assert.equal(last.result?.['resultType'], 'complete');
    assert.match(textOf(await client.call('count').next()), /^3 calls/, 'none ran twice');
  });

  test(
    `over ${transport}, questions are gathered, and asked again until each is answered (A3)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, '2025', transport, { parkGatherMs: 100 });
      const client = statelessClient(agent, canAll);
      const both = askedIn(await client.call('both').next());
      assert.deepEqual(
        both.requests.map(({ method }) => method),
        ['sampling/createMessage', 'roots/list'],
      );
      const [model = '', roots = ''] = both.keys;
      const rest = askedIn(
        await client
          .call(
            'both',
            {},
            {
              inputResponses: { [roots]: { roots: [] }, foreign: {} },
              requestState: both.state,
            },
          )
          .next(),
      );
      assert.deepEqual(rest.keys, [model]);
      const text = { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'm' };
      const inputResponses = { [model]: text };
      const done = await client.call('both', {}, { inputResponses, requestState: rest.state }).next();
      assert.equal(textOf(done), 'Paris in []');
    },
  );

  test(`over ${transport}, a state is good once, for its call, in its time (A5, A4)`, limits, async (t) => {
    const agent = await startAgent(t, '2025', transport, { parkTtlMs: 5000 });
    const client = statelessClient(agent, canAll);
    const parked = askedIn(await client.call('meet', { a: 1 }).next());
    const retry = (name: string, args: object, state: unknown) => {
      const inputResponses = { [String(parked.keys[0])]: accept('name', 'Eve') };
      return client.call(name, { ...args }, { inputResponses, requestState: state }).next();
    };
    const state = String(parked.state);
    const cases: [string, Promise<unknown>][] = [
      ['another method, name or arguments', retry('meet', { a: 2 }, state)],
      ['another method, name or arguments', retry('twice', { a: 1 }, state)],
      ['was changed', retry('meet', { a: 1 }, `${state.slice(0, -3)}AAA`)],
      ['another instance', retry('meet', { a: 1 }, `other${state.slice(state.indexOf('.'))}`)],
      ['was not made by this agent', retry('meet', { a: 1 }, 'x')],
    ];
    for (const [reason, answer] of cases) {
      const { error } = (await answer) as { error?: { code: number; message: string } };
      assert.equal(error?.code, -32_602);
      assert.match(error?.message ?? '', new RegExp(reason));
    }
    const bad = await client.call('meet', { a: 1 }, { inputResponses: [], requestState: state }).next();
    assert.equal(bad.error?.code, -32_602);
    assert.equal(textOf(await retry('meet', { a: 1 }, state)), 'Hello, Eve!', 'nothing of that used it up');
    assert.match((await retry('meet', { a: 1 }, state)).error?.message ?? '', /answered before/);
    const late = askedIn(await client.call('meet').next());
    await new Promise((resolve) => setTimeout(resolve, 5200));
    const expired = await client.call('meet', {}, { requestState: late.state }).next();
    assert.match(expired.error?.message ?? '', /nobody came back within 5 seconds/);
    assert.equal(textOf(await client.call('count').next()), '3 calls, 0 hanging, 0 cancelled', 'told cancel');
  });

  test(
    `over ${transport}, URLs to visit lose their ids (A8), also those of an error (A9)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, '2025', transport);
      const client = statelessClient(agent, canAll);
      const url = { mode: 'url', message: 'Please visit', url: 'https://example.com/visit' };
      const visit = askedIn(await client.call('visit').next());
      assert.deepEqual(visit.requests, [{ method: 'elicitation/create', params: url }]);
      const inputResponses = { [String(visit.keys[0])]: { action: 'accept' } };
      const visited = await client.call('visit', {}, { inputResponses, requestState: visit.state }).next();
      assert.equal(textOf(visited), 'visited: accept');

      const needs = askedIn(await client.call('needs-url').next());
      assert.deepEqual([needs.requests, needs.state], [visit.requests, undefined]);
      const answered = { inputResponses: { [String(needs.keys[0])]: { action: 'accept' } } };
      assert.equal(textOf(await client.call('needs-url', {}, answered).next()), 'thank you');
    },
  );

  test(`over ${transport}, a client that cannot visit URLs is told what it lacks (A9)`, limits, async (t) => {
    const agent = await startAgent(t, '2025', transport);
    const client = statelessClient(agent, { elicitation: { form: {} } });
    const lacking = client.call('needs-url');
    assert.equal(await lacking.status(), 400);
    assert.equal((await lacking.next()).error?.code, -32_021);
  });

  test(`over ${transport}, only what the client declared is asked (A1, A12)`, limits, async (t) => {
    const agent = await startAgent(t, '2025', transport);
    const known = async (capabilities: object) =>
      JSON.parse(textOf(await statelessClient(agent, capabilities).call('whoami').next()));
    const some = await known({ elicitation: {}, extensions: {} });
    const again = await known({ elicitation: {} });
    const others = await known(canAll);
    const none = await known({ extensions: {} });
    assert.deepEqual(some.capabilities, { elicitation: {} });
    assert.deepEqual(others.capabilities, canAll);
    assert.deepEqual(none.capabilities, {});
    const place = ({ session, pid }: Record<string, unknown>) => `${session} ${pid}`;
    assert.equal(place(some), place(again), 'same user, same capabilities');
    assert.equal(new Set([some, others, none].map(place)).size, 3);
    const refused = await statelessClient(agent, { elicitation: {} }).call('undeclared').next();
    assert.equal(textOf(refused), 'refused with -32601');
  });

  test(`over ${transport}, a withdrawn question is asked no more (A13)`, limits, async (t) => {
    const agent = await startAgent(t, '2025', transport);
    const client = statelessClient(agent, canAll);
    const { keys, state } = askedIn(await client.call('withdraw').next());
    await new Promise((resolve) => setTimeout(resolve, 200));
    const inputResponses = { [String(keys[0])]: accept('name', 'Ana') };
    const late = await client.call('withdraw', {}, { inputResponses, requestState: state }).next();
    assert.equal(textOf(late), 'withdrawn');
  });

  test(`over ${transport}, progress and logs come with the call (R6, R8)`, limits, async (t) => {
    const agent = await startAgent(t, '2025', transport);
    const told = async (level: string | undefined) => {
      const call = statelessClient(agent, canAll, level).call('steps', {}, { _meta: { progressToken: 'p' } });
      return (await call.all()).map(({ params }) => params?.['progress'] ?? params?.['data']);
    };
    assert.deepEqual(await told(undefined), [1, 2, undefined]);
    assert.deepEqual(await told('info'), [1, 'info 1', 2, 'info 2', undefined]);
    assert.deepEqual(await told('debug'), [1, 'debug 1', 'info 1', 2, 'debug 2', 'info 2', undefined]);
    assert.deepEqual(await told('error'), [1, 2, undefined]);
  });

  test(
    `over ${transport}, a client that goes away cancels its call, a parked one stays (R7)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, '2025', transport);
      const client = statelessClient(agent, canAll);
      const counter = statelessClient(agent, transport === 'stdio' ? canAll : {});
      // Over stdio nothing can be asked beside the call: the process is there before it, and has half a second.
      await client.call('count').next();
      const hang = client.call('hang');
      await (transport === 'http'
        ? eventually('it runs', async () => textOf(await counter.call('count').next()).includes('1 hanging'))
        : new Promise((resolve) => setTimeout(resolve, 500)));
      hang.abort();
      await hang.status().catch(() => undefined);
      await eventually('cancelled', async () =>
        / 1 cancelled/.test(textOf(await counter.call('count').next())),
      );
      const { keys, state } = askedIn(await client.call('meet').next());
      const inputResponses = { [String(keys[0])]: accept('name', 'Ana') };
      const back = await client.call('meet', {}, { inputResponses, requestState: state }).next();
      assert.equal(textOf(back), 'Hello, Ana!');
    },
  );

  test(
    `over ${transport}, changes of lists and resources reach subscriptions/listen (N1, N2)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, '2025', transport);
      for (const client of [statelessClient(agent), statelessClient(agent, canAll)]) {
        const uris = ['test://a', 'test://refused'];
        const listen = client.request('subscriptions/listen', {
          notifications: { toolsListChanged: true, resourceSubscriptions: uris },
        });
        const { method, params } = await listen.next();
        assert.equal(method, 'notifications/subscriptions/acknowledged');
        assert.deepEqual(params?.['notifications'], {
          toolsListChanged: true,
          resourceSubscriptions: ['test://a'],
        });
        await client.call('touch', { uri: 'test://b' }).all();
        await client.call('touch', { uri: 'test://a' }).all();
        const changed = await listen.next();
        assert.deepEqual(
          [changed.method, changed.params?.['uri']],
          ['notifications/resources/updated', 'test://a'],
        );
        listen.abort();
        await listen.status();
      }
      if (transport === 'stdio') return;
      const client = statelessClient(agent, canAll);
      const listen = client.request('subscriptions/listen', { notifications: { toolsListChanged: true } });
      await listen.next();
      await client.call('grow').all();
      assert.equal((await listen.next()).method, 'notifications/tools/list_changed');
      listen.abort();
    },
  );

  test(
    `over ${transport}, the rest of 2025 has the form of 2026-07-28 (R10, R11, R13, R1)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, '2025', transport);
      const client = statelessClient(agent, canAll);
      const missing = await client.request('resources/read', { uri: 'test://b' }).next();
      assert.equal(missing.error?.code, -32_602);
      const read = await client.request('resources/read', { uri: 'test://a' }).next();
      assert.deepEqual(read.result?.['contents'], [{ uri: 'test://a', text: 'content' }]);
      assert.equal(read.result?.['resultType'], 'complete');
      assert.deepEqual(
        (await client.request('prompts/get', { name: 'hello' }).next()).result?.['messages'],
        [],
      );
      for (const method of ['ping', 'initialize', 'tasks/get', 'logging/setLevel']) {
        const refused = client.request(method);
        assert.equal(await refused.status(), 404, method);
        assert.equal((await refused.next()).error?.code, -32_601);
      }
    },
  );
}
