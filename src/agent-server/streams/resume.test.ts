import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { askForEvents, type EventClient } from '../testing/event-client.ts';
import {
  eventually,
  openSession,
  type TestServer,
  temporaryFolder,
  testServer,
  toolCall,
} from '../testing/harness.ts';

const limits = { timeout: 60_000 };

/** Tells 1, 2, 3, each after its file is there, and answers after the last. */
const steps = [
  'for i in 1 2 3; do',
  'until [ -e "go$i" ]; do sleep 0.02; done;',
  'echo "{\\"log\\":{\\"level\\":\\"info\\",\\"data\\":$i}}" >&3;',
  'done;',
  'until [ -e end ]; do sleep 0.02; done; echo done',
].join(' ');
const mcp = {
  tools: [
    { name: 'steps', command: steps },
    {
      name: 'floods',
      command:
        'for i in 1 2 3 4 5 6; do echo "{\\"log\\":{\\"level\\":\\"info\\",\\"data\\":$i}}" >&3; done; echo done',
    },
    {
      name: 'large',
      command:
        'echo "{\\"log\\":{\\"level\\":\\"info\\",\\"data\\":1}}" >&3; head -c 5000 /dev/zero | tr "\\0" x',
    },
    { name: 'quick', command: 'echo quick' },
  ],
};

interface Client {
  readonly server: TestServer;
  readonly headers: Record<string, string>;
  call(name: string): Promise<EventClient>;
  comeBack(lastEventId: string | undefined): Promise<EventClient>;
  go(step: number | 'end'): Promise<void>;
}

async function start(
  t: TestContext,
  settings: Record<string, number> = {},
  revision = '2025-11-25',
): Promise<Client> {
  const server = await testServer(t, { mcp, limits: settings });
  return clientOf(t, server, revision);
}

async function clientOf(t: TestContext, server: TestServer, revision = '2025-11-25'): Promise<Client> {
  const session = { 'mcp-session-id': await openSession(server, {}, revision) };
  const headers = { ...session, 'mcp-protocol-version': revision };
  const url = `${server.url}/mcp`;
  return {
    server,
    headers,
    call: (name) => askForEvents(t, url, { headers, message: toolCall(name) }),
    comeBack: (id) => askForEvents(t, url, { headers: { ...headers, 'last-event-id': id ?? '' } }),
    go: (step) => writeFile(join(server.code, step === 'end' ? 'end' : `go${step}`), ''),
  };
}

/** What the tool told, and its answer. */
function told(...clients: readonly EventClient[]): unknown[] {
  return clients
    .flatMap((client) => client.messages())
    .map(({ params, result, error }) => result?.content[0]?.text ?? error?.message ?? params['data']);
}

async function whole(client: EventClient): Promise<unknown[]> {
  await client.until('the stream ends', () => client.ended === 'complete');
  return told(client);
}

test(
  'a client that lost its call’s stream comes back for each event once, and the answer',
  limits,
  async (t) => {
    const client = await start(t, { streamAfterMs: 1 });
    const first = await client.call('steps');
    assert.match(first.headers.get('content-type') ?? '', /^text\/event-stream/);
    await first.until('it is primed', () => first.events.length > 0);
    assert.deepEqual([first.events[0]?.data, first.events[0]?.retry], ['', 1000]);
    assert.match(first.lastEventId ?? '', /^instance-1\.[\w-]+$/);
    await client.go(1);
    await first.until('one is told', () => told(first).length === 1);
    first.close();
    await client.go(2);
    const second = await client.comeBack(first.lastEventId);
    await second.until('two is told', () => told(second).length === 1);
    second.close();
    await client.go(3);
    await client.go('end');
    const third = await client.comeBack(second.lastEventId);
    assert.deepEqual([...told(first, second), ...(await whole(third))], [1, 2, 3, 'done\n']);
    const ids = [first, second, third].flatMap(({ events }) => events.map(({ id }) => id));
    assert.ok(ids.every((id) => id !== undefined));
  },
);

test('from any event, as often as one likes, even before the first', limits, async (t) => {
  const client = await start(t, { streamAfterMs: 1 });
  const first = await client.call('steps');
  for (const step of [1, 2, 3, 'end'] as const) await client.go(step);
  assert.deepEqual(await whole(first), [1, 2, 3, 'done\n']);
  const all = [...first.events];
  for (const [index, { id }] of all.entries()) {
    const again = await client.comeBack(id);
    assert.deepEqual(await whole(again), [1, 2, 3, 'done\n'].slice(index));
  }
});

test('who comes back takes the stream over from a connection that is half dead', limits, async (t) => {
  const client = await start(t, { streamAfterMs: 1 });
  const first = await client.call('steps');
  await client.go(1);
  await first.until('one is told', () => told(first).length === 1);
  const second = await client.comeBack(first.events[0]?.id);
  await first.until('it ends', () => first.ended === 'complete');
  for (const step of [2, 3, 'end'] as const) await client.go(step);
  assert.deepEqual([told(first), await whole(second)], [[1], [1, 2, 3, 'done\n']]);
});

test('clients of earlier revisions get ids, but no event without data', limits, async (t) => {
  const client = await start(t, { streamAfterMs: 1 }, '2025-06-18');
  await client.go(1);
  const first = await client.call('steps');
  await first.until('one is told', () => first.events.length > 0);
  assert.equal(first.events[0]?.data === '', false);
  first.close();
  for (const step of [2, 3, 'end'] as const) await client.go(step);
  assert.deepEqual(await whole(await client.comeBack(first.lastEventId)), [2, 3, 'done\n']);
});

test('a call that is over at once is plain JSON, and nothing is kept', limits, async (t) => {
  const client = await start(t);
  const answer = await client.call('quick');
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  assert.deepEqual(await whole(answer), ['quick\n']);
  assert.equal(client.server.server.streams.size, 0);
});

test('ids of other sessions, changed ones and nonsense are refused', limits, async (t) => {
  const client = await start(t, { streamAfterMs: 1 });
  const other = await clientOf(t, client.server);
  const first = await client.call('steps');
  await first.until('it is primed', () => first.events.length > 0);
  const id = first.lastEventId ?? '';
  const changed = id.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
  for (const [who, wrong] of [
    [other, id],
    [client, changed],
    [client, id.replace('instance-1', 'instance-2')],
    [client, '17'],
    [client, 'x'.repeat(3000)],
  ] as const) {
    const answer = await who.comeBack(wrong);
    await answer.until('it is whole', () => answer.ended !== undefined);
    assert.deepEqual([answer.status, answer.messages()[0]?.error.code], [400, -32000], wrong);
  }
  for (const step of [1, 2, 3, 'end'] as const) await client.go(step);
  await whole(first);
  const headers = { 'mcp-session-id': 'nobody', 'last-event-id': id };
  assert.equal((await askForEvents(t, `${client.server.url}/mcp`, { headers })).status, 404);
});

test('after DELETE nobody comes back, and nothing is kept', limits, async (t) => {
  const client = await start(t, { streamAfterMs: 1 });
  const first = await client.call('steps');
  await client.go(1);
  await first.until('one is told', () => told(first).length === 1);
  assert.equal(client.server.server.streams.size, 1);
  const ended = await client.server.send('DELETE', '/mcp', client.headers);
  assert.equal(ended.status, 204);
  assert.equal(client.server.server.streams.size, 0);
  assert.equal(client.server.server.streams.bytes, 0);
  await first.until('the call ends', () => first.ended !== undefined);
  assert.equal((await client.comeBack(first.lastEventId)).status, 404);
});

test(
  'what nobody came back for is forgotten; a late client hears that its call is lost',
  limits,
  async (t) => {
    const client = await start(t, { streamAfterMs: 1, resumeMs: 50 });
    const first = await client.call('steps');
    await first.until('it is primed', () => first.events.length > 0);
    first.close();
    await eventually('it is forgotten', () => client.server.server.streams.size === 0, 20_000);
    const late = await client.comeBack(first.lastEventId);
    assert.equal(late.status, 200);
    await late.until('it ends', () => late.ended === 'complete');
    const [message] = late.messages();
    assert.deepEqual([message?.id, message?.error.code], [1, -32603]);
    assert.match(message?.error.message ?? '', /not kept any more.*may have run/);
  },
);

test('a session that nobody used for a while ends, with what was kept for it', limits, async (t) => {
  const client = await start(t, { streamAfterMs: 1, sessionIdleMs: 200 });
  const first = await client.call('steps');
  for (const step of [1, 2, 3, 'end'] as const) await client.go(step);
  await whole(first);
  await eventually('nothing is kept', () => client.server.server.streams.size === 0, 20_000);
  assert.equal((await client.comeBack(first.lastEventId)).status, 404);
});

test('of more events than are kept the last ones are told', limits, async (t) => {
  const client = await start(t, { maxStreamEvents: 3 });
  const first = await client.call('floods');
  assert.deepEqual(await whole(first), [1, 2, 3, 4, 5, 6, 'done\n']);
  assert.deepEqual(await whole(await client.comeBack(first.events[0]?.id)), [5, 6, 'done\n']);
});

test('an answer that is too long to be kept is an error for who comes back', limits, async (t) => {
  const client = await start(t, { maxStreamBytes: 4000 });
  const first = await client.call('large');
  const [, answer] = await whole(first);
  assert.equal(String(answer).length, 5000);
  assert.deepEqual(await whole(await client.comeBack(first.events[0]?.id)), [
    1,
    'The answer is longer than 4000 bytes and was not kept for a client that comes back',
  ]);
});

/** An agent whose tools change as the test says; each change is told to every session. */
async function changing(
  t: TestContext,
  settings: Record<string, number> = {},
): Promise<{ client: Client; change: (count: number) => Promise<void> }> {
  const code = await temporaryFolder(t);
  const write = async (count: number) => {
    const tools = Array.from({ length: count }, (_, index) => ({ name: `t${index}`, command: 'true' }));
    await writeFile(join(code, 'new'), JSON.stringify({ tools }));
    await rename(join(code, 'new'), join(code, 'mcp-config.json'));
  };
  await write(1);
  const server = await testServer(t, { code, limits: { configPollMs: 20, ...settings } });
  const client = await clientOf(t, server);
  const list = { jsonrpc: '2.0', id: 5, method: 'tools/list' };
  return {
    client,
    async change(count) {
      await write(count);
      const isThere = async () =>
        (await server.post(list, client.headers)).json.result.tools.length === count;
      await eventually('the tools are there', isThere, 20_000);
    },
  };
}

test(
  'the own stream of a session goes on where it broke off; what was told meanwhile comes',
  limits,
  async (t) => {
    const { client, change } = await changing(t);
    const url = `${client.server.url}/mcp`;
    const own = await askForEvents(t, url, { headers: client.headers });
    await own.until('it is primed', () => own.events.length === 1);
    await change(2);
    await own.until('a change is told', () => own.messages().length === 1);
    own.close();
    await eventually('the server sees it', () => client.server.server.streams.size === 1);
    await change(3);
    await change(4);
    const back = await client.comeBack(own.lastEventId);
    await back.until('what was missed', () => back.messages().length === 2);
    await change(5);
    await back.until('and goes on', () => back.messages().length === 3);
    const methods = [own, back].flatMap((stream) => stream.messages().map(({ method }) => method));
    assert.deepEqual(
      methods,
      Array.from({ length: 4 }, () => 'notifications/tools/list_changed'),
    );
    const again = await client.comeBack(own.events[0]?.id);
    await again.until('from the beginning', () => again.messages().length === 4);
    await back.until('one reads it at a time', () => back.ended === 'complete');
  },
);

test(
  'one message goes on one stream only; a stream that nobody reads waits for its client',
  limits,
  async (t) => {
    const { client, change } = await changing(t);
    const url = `${client.server.url}/mcp`;
    const [one, two] = [
      await askForEvents(t, url, { headers: client.headers }),
      await askForEvents(t, url, { headers: client.headers }),
    ];
    await change(2);
    await two.until('the youngest is told', () => two.messages().length === 1);
    assert.deepEqual(one.messages(), []);
    two.close();
    let count = 2;
    const isTold = async () => {
      count += 1;
      await change(count);
      return one.messages().length > 0;
    };
    await eventually('the other one is told', isTold, 20_000);
    const heard = one.messages().length;
    const back = await client.comeBack(two.lastEventId);
    const missed = back.messages().length;
    await change(count + 1);
    await back.until('the youngest again', () => back.messages().length > missed);
    assert.equal(one.messages().length, heard);
  },
);

test('what waits for a client that listens to its session is bounded by itself', limits, async (t) => {
  const { client, change } = await changing(t, { maxOwnStreamBytes: 400 });
  const own = await askForEvents(t, `${client.server.url}/mcp`, { headers: client.headers });
  await own.until('it is primed', () => own.events.length === 1);
  own.close();
  for (let count = 2; count < 8; count += 1) await change(count);
  assert.ok(client.server.server.streams.bytes <= 400);
  const back = await client.comeBack(own.lastEventId);
  await back.until('the last two come', () => back.messages().length === 2);
});

test('an own stream that is forgotten begins anew, and there are not too many of them', limits, async (t) => {
  const client = await start(t, { resumeMs: 20 });
  const url = `${client.server.url}/mcp`;
  const own = await askForEvents(t, url, { headers: client.headers });
  await own.until('it is primed', () => own.events.length === 1);
  own.close();
  await eventually('it is forgotten', () => client.server.server.streams.size === 0, 20_000);
  const back = await client.comeBack(own.lastEventId);
  await back.until('it is primed', () => back.events.length === 1);
  for (let more = 1; more < 8; more += 1) {
    assert.equal((await askForEvents(t, url, { headers: client.headers })).status, 200);
  }
  assert.equal((await askForEvents(t, url, { headers: client.headers })).status, 400);
});
