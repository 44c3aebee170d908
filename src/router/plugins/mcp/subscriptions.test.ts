import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { metaKeys } from '#mcp/eras.ts';
import { routeNamed } from '#routing/testing.ts';
import { agentOf } from '../../testing/harness.ts';
import { request } from '../../testing/mcp-client.ts';
import { openStream } from '../../testing/open-stream.ts';
import { clientOfRoute, type RouteClient } from '../../testing/route-client.ts';

const limits = { timeout: 30_000 };
const resource = (uri: string) => ({ uri, name: uri });
const tells = { resources: { listChanged: true, subscribe: true } };
const agents = [
  { name: 'a', capabilities: tells, resources: [resource('doc://one'), resource('doc://own')] },
  { name: 'b', capabilities: tells, resources: [resource('doc://one')] },
  { name: 'mute', resources: [resource('doc://mute')] },
];

async function listening(t: TestContext, uris: readonly string[]) {
  const client = await clientOfRoute(t, agents);
  const meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {} };
  const params = { _meta: meta, notifications: { resourceSubscriptions: uris } };
  const base = await client.router.listen();
  const stream = await openStream(t, `${base}${client.path}`, {
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
    body: request('subscriptions/listen', params, 'sub'),
  });
  return { ...client, stream };
}

function agentOfClient({ router }: Pick<RouteClient, 'router'>, index: number) {
  const agent = router.agents[index];
  assert.ok(agent !== undefined);
  return agent;
}

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !holds(); tries += 1) await new Promise((done) => setTimeout(done, 10));
  assert.ok(holds());
}

test(
  'resources/subscribe goes to the owner in its own words, and its news come on the GET stream',
  limits,
  async (t) => {
    const client = await clientOfRoute(t, agents);
    const base = await client.router.listen();
    const stream = await openStream(t, `${base}${client.path}`, { method: 'GET', headers: client.headers });
    await client.send('resources/list');
    const answer = await client.send('resources/subscribe', { uri: 'ploinky://b/doc://one' });
    assert.deepEqual(answer.json.result, {});
    const b = agentOfClient(client, 1);
    const asked = b.seen.find(({ body }) => body.includes('resources/subscribe'));
    assert.equal(JSON.parse(asked?.body ?? '').params.uri, 'doc://one');
    const own = () => b.seen.find(({ method }) => method === 'GET');
    await until(() => own() !== undefined);
    assert.equal(own()?.claims.mcp?.session, asked?.claims.mcp?.session);
    assert.equal(agentOfClient(client, 2).seen.filter(({ method }) => method === 'GET').length, 0);
    const messages = [await stream.next(), await stream.next()];
    assert.ok(messages.every(({ method }) => method === 'notifications/message'));
    b.tell('notifications/tools/list_changed', {});
    b.tell('notifications/resources/updated', { uri: 'doc://one' });
    const news = await stream.next();
    assert.deepEqual(
      [news.method, news.params.uri],
      ['notifications/resources/updated', 'ploinky://b/doc://one'],
    );
    stream.close();
    await until(() => b.aborted.includes('GET /mcp'));
  },
);

test('an agent’s stream that breaks is opened again while the client listens', limits, async (t) => {
  const client = await clientOfRoute(t, agents.slice(0, 1));
  const base = await client.router.listen();
  const stream = await openStream(t, `${base}${client.path}`, { method: 'GET', headers: client.headers });
  const a = agentOfClient(client, 0);
  assert.equal((await stream.next()).method, 'notifications/message');
  a.breakStreams();
  assert.equal((await stream.next()).method, 'notifications/message');
  a.tell('notifications/resources/updated', { uri: 'doc://own' });
  assert.equal((await stream.next()).params.uri, 'doc://own');
});

test('a listen request is split by owner and answered as one', limits, async (t) => {
  const wanted = ['ploinky://a/doc://one', 'doc://own', 'ploinky://b/doc://one', 'doc://mute', 'no://where'];
  const client = await listening(t, wanted);
  const first = await client.stream.next();
  assert.equal(first.method, 'notifications/subscriptions/acknowledged');
  assert.deepEqual(first.params.notifications, { resourceSubscriptions: wanted.slice(0, 3) });
  const [a, b] = [agentOfClient(client, 0), agentOfClient(client, 1)];
  const asked = JSON.parse(a.seen.find(({ body }) => body.includes('subscriptions/listen'))?.body ?? '');
  assert.deepEqual(asked.params.notifications, { resourceSubscriptions: ['doc://one', 'doc://own'] });
  a.tell('notifications/resources/updated', { uri: 'doc://other' });
  a.tell('notifications/resources/updated', { uri: 'doc://one' });
  b.tell('notifications/resources/updated', { uri: 'doc://one' });
  const news = [await client.stream.next(), await client.stream.next()];
  assert.deepEqual(news.map(({ params }) => params.uri).sort(), [
    'ploinky://a/doc://one',
    'ploinky://b/doc://one',
  ]);
  assert.ok(news.every(({ params }) => params._meta[metaKeys.subscriptionId] === 'sub'));
  client.stream.close();
  await until(() => a.aborted.length > 0 && b.aborted.length > 0);
});

test('what may have changed while an agent’s stream was broken counts as changed', limits, async (t) => {
  const client = await listening(t, ['doc://own']);
  await client.stream.next();
  agentOfClient(client, 0).breakStreams();
  const news = await client.stream.next();
  assert.deepEqual([news.method, news.params.uri], ['notifications/resources/updated', 'doc://own']);
});

test('an agent that was taken away is listened to again when it is back', limits, async (t) => {
  const client = await listening(t, ['doc://own', 'ploinky://b/doc://one']);
  await client.stream.next();
  const [a, b] = [agentOfClient(client, 0), agentOfClient(client, 1)];
  const show = (shown: readonly (typeof a)[]) =>
    client.router.tables.set(
      shown.map((agent) => agentOf(agent)),
      [routeNamed('team', { selector: {}, paths: ['/team'], mcp: {} })],
    );
  show([b]);
  await until(() => a.aborted.length > 0);
  show([a, b]);
  const back = await client.stream.next();
  assert.equal(back.params.uri, 'doc://own', 'it may have changed meanwhile');
  a.tell('notifications/resources/updated', { uri: 'doc://own' });
  assert.equal((await client.stream.next()).params.uri, 'doc://own');
  client.stream.close();
  await until(() => a.aborted.length > 1 && b.aborted.length > 0);
});

test('with nothing to tell the stream ends at once, and too many URIs are refused', limits, async (t) => {
  const { stream, ask } = await listening(t, ['doc://mute']);
  assert.deepEqual((await stream.next()).params.notifications, {});
  assert.equal((await stream.next()).result.resultType, 'complete');
  const resourceSubscriptions = Array.from({ length: 1001 }, (_, index) => `doc://${index}`);
  const { error } = (await ask('subscriptions/listen', { notifications: { resourceSubscriptions } })).json;
  assert.equal(error.code, -32602);
  assert.match(error.message, /at most 1000 URIs/);
});
