import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  accept,
  askedIn,
  type Client,
  sessionClient,
  startAgent,
  statelessClient,
  textOf,
} from '../bridge/testing.ts';
import { eventually } from '../testing/harness.ts';

// Upstreams that end, and processes of stdio upstreams. Names in brackets are rows of docs/bridging.md.

const limits = { timeout: 15_000 };
const canAsk = { elicitation: { form: {} } };

async function whoami(client: Client): Promise<{ pid: number; session: string; capabilities: object }> {
  return JSON.parse(textOf((await client.call('whoami').all()).at(-1) ?? {}));
}

test('each client that can be asked has a process, all others share one (S1, S2)', limits, async (t) => {
  const agent = await startAgent(t, '2025', 'stdio');
  const [ana, ben] = [await sessionClient(agent, canAsk), await sessionClient(agent, canAsk)];
  const [plain, stateless] = [await sessionClient(agent), statelessClient(agent)];
  const pids = await Promise.all(
    [ana, ben, plain, stateless].map(async (client) => (await whoami(client)).pid),
  );
  assert.equal(pids[2], pids[3]);
  assert.equal(new Set(pids).size, 3);
  assert.equal((await whoami(ana)).pid, pids[0]);
});

test('a process of one client runs one call at a time (S2)', limits, async (t) => {
  const agent = await startAgent(t, '2025', 'stdio');
  const client = await sessionClient(agent, canAsk);
  const meet = client.call('meet');
  const question = await meet.next();
  const second = client.call('whoami');
  let done = false;
  const waiting = second.next().then((message) => {
    done = true;
    return message;
  });
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(done, false);
  await client.answer(question.id, accept('name', 'Ana'));
  assert.equal(textOf(await meet.next()), 'Hello, Ana!');
  assert.match(textOf(await waiting), /pid/);
});

test(
  'a call that waits for its client is no obstacle to others of the same user (S2, A6)',
  limits,
  async (t) => {
    const agent = await startAgent(t, '2025', 'stdio', { maxUpstreamProcesses: 4 });
    const client = statelessClient(agent, canAsk);
    const parked = [askedIn(await client.call('meet').next()), askedIn(await client.call('meet').next())];
    const retry = (index: number) => {
      const { keys, state } = parked[index] ?? assert.fail();
      const inputResponses = { [String(keys[0])]: accept('name', `${index}`) };
      return client.call('meet', {}, { inputResponses, requestState: state }).next();
    };
    assert.match(textOf(await client.call('whoami').next()), /pid/, 'the oldest makes room');
    assert.match((await retry(0)).error?.message ?? '', /not waiting any more/);
    assert.equal(textOf(await retry(1)), 'Hello, 1!');
  },
);

test('when all processes are used a call waits for one, and idle ones end (S4, S5)', limits, async (t) => {
  const agent = await startAgent(t, '2025', 'stdio', { maxUpstreamProcesses: 1, upstreamProcessIdleMs: 300 });
  const [ana, ben] = [await sessionClient(agent, canAsk), await sessionClient(agent, canAsk)];
  const first = (await whoami(ana)).pid;
  assert.notEqual((await whoami(ben)).pid, first, 'unused, it makes room');
  const meet = ana.call('meet');
  const { id } = await meet.next();
  const waiting = whoami(ben);
  await ana.answer(id, accept('name', 'Ana'));
  assert.equal(textOf(await meet.next()), 'Hello, Ana!');
  const { pid } = await waiting;
  await eventually('it ends', () => !isAlive(pid));
});

test('a server of both eras serves each client in its own (S3)', limits, async (t) => {
  const agent = await startAgent(t, 'both', 'stdio');
  const modern = statelessClient(agent, canAsk);
  const asked = askedIn(await modern.call('meet').next());
  assert.deepEqual([asked.keys, asked.state], [['who'], undefined], 'the server’s own, not the bridge’s');
  const inputResponses = { who: accept('name', 'Ana') };
  assert.equal(textOf(await modern.call('meet', {}, { inputResponses }).next()), 'Hello, Ana!');
  const client = await sessionClient(agent, canAsk);
  const meet = client.call('meet');
  await client.answer((await meet.next()).id, accept('name', 'Ben'));
  assert.equal(textOf(await meet.next()), 'Hello, Ben!');
});

for (const eras of ['2025', '2026'] as const) {
  test(
    `a process of ${eras} that ends fails its calls, and the next call finds another (E1, E2)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, eras, 'stdio');
      for (const client of [
        await sessionClient(agent),
        await sessionClient(agent, canAsk),
        statelessClient(agent),
      ]) {
        const before = await whoami(client);
        const crashed = await client.call('crash').next();
        assert.equal(crashed.error?.code, -32_603);
        assert.match(crashed.error?.message ?? '', /exit code 3/);
        assert.notEqual((await whoami(client)).pid, before.pid);
      }
    },
  );

  test(`subscriptions are there again after a process of ${eras} was lost (N3)`, limits, async (t) => {
    const agent = await startAgent(t, eras, 'stdio');
    const client = await sessionClient(agent);
    const stream = client.listen();
    await stream.status();
    assert.deepEqual((await client.request('resources/subscribe', { uri: 'test://a' }).next()).result, {});
    await client.call('crash').all();
    await whoami(client);
    await eventually('it is told again', async () => {
      await client.call('touch', { uri: 'test://a' }).all();
      const told = await Promise.race([stream.next(), new Promise((resolve) => setTimeout(resolve, 200))]);
      return told !== undefined;
    });
    stream.abort();
  });
}

for (const lost of ['crash', 'eviction']) {
  test(`a client’s own process is told again what one lost by ${lost} was told (N3)`, limits, async (t) => {
    const agent = await startAgent(t, '2025', 'stdio', { maxUpstreamProcesses: 1 });
    const [ana, ben] = [await sessionClient(agent, canAsk), await sessionClient(agent, canAsk)];
    const stream = ana.listen();
    await stream.status();
    await ana.request('resources/subscribe', { uri: 'test://a' }).all();
    const before = await whoami(ana);
    if (lost === 'crash') await ana.call('crash').all();
    else await whoami(ben);
    assert.notEqual((await whoami(ana)).pid, before.pid);
    await ana.call('touch', { uri: 'test://a' }).all();
    assert.equal((await stream.next()).method, 'notifications/resources/updated');
    stream.abort();
  });
}

test('one client’s process ends without the others’ (E4)', limits, async (t) => {
  const agent = await startAgent(t, '2025', 'stdio');
  const [ana, plain] = [statelessClient(agent, canAsk), statelessClient(agent)];
  const { keys, state } = askedIn(await ana.call('meet').next());
  const shared = (await whoami(plain)).pid;
  await plain.call('crash').all();
  assert.notEqual((await whoami(plain)).pid, shared);
  const inputResponses = { [String(keys[0])]: accept('name', 'Ana') };
  const back = await ana.call('meet', {}, { inputResponses, requestState: state }).next();
  assert.equal(textOf(back), 'Hello, Ana!');
});

test('a forgotten session is opened again with what it was told (E3, N3)', limits, async (t) => {
  const agent = await startAgent(t, '2025', 'http');
  for (const client of [await sessionClient(agent), await sessionClient(agent, canAsk)]) {
    const stream = client.listen();
    await stream.status();
    await client.request('logging/setLevel', { level: 'debug' }).all();
    await client.call('steps').all();
    await client.request('resources/subscribe', { uri: 'test://a' }).all();
    const before = await whoami(client);
    await client.call('forget').all();
    const after = await whoami(client);
    assert.notEqual(after.session, before.session);
    assert.deepEqual(after.capabilities, before.capabilities);
    const logs = (await client.call('steps').all()).map(({ params }) => params?.['data']);
    assert.deepEqual(logs.slice(0, 2), ['debug 1', 'info 1']);
    await client.call('touch', { uri: 'test://a' }).all();
    const { method } = await stream.next();
    assert.equal(method, 'notifications/resources/updated');
    stream.abort();
  }
});

test('what one client unsubscribes from, another still hears (N2)', limits, async (t) => {
  const agent = await startAgent(t, '2025', 'http');
  const [ana, ben] = [await sessionClient(agent), await sessionClient(agent)];
  const stream = ben.listen();
  await stream.status();
  for (const client of [ana, ben]) await client.request('resources/subscribe', { uri: 'test://a' }).all();
  await ana.request('resources/unsubscribe', { uri: 'test://a' }).all();
  await ana.call('touch', { uri: 'test://a' }).all();
  assert.equal((await stream.next()).method, 'notifications/resources/updated');
  stream.abort();
});

test('a call that wants to be a task of 2025 just runs (R12)', limits, async (t) => {
  const agent = await startAgent(t, '2025', 'http');
  const client = await sessionClient(agent);
  assert.match(textOf(await client.call('count', {}, { task: { ttl: 1000 } }).next()), /calls/);
  assert.equal((await client.request('tasks/list').next()).error?.code, -32_601);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
