import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Agent as HttpAgent } from 'undici';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { type AgentServerChange, followChanges } from '#wire/changes.ts';
import { deriveAgentKey } from '#wire/keys.ts';
import { masterKey } from '#wire/testing.ts';
import { agentAt, openSession, post, startInstance, startLoad, startReplica } from './replicas.ts';

const bounded = { timeout: 120_000 };
const before = masterKey(1);
const after = masterKey(2);
const sleep = (ms: number) => systemClock.sleep(ms);

test(
  'a rotation of the master key fails no call while agents take up the new key one by one',
  bounded,
  async (t) => {
    const one = await startInstance(t, 'one', [before]);
    const two = await startInstance(t, 'two', [before]);
    const agents = [agentAt([one.endpoint(), two.endpoint()])];
    const a = await startReplica(t, agents, [before]);
    const b = await startReplica(t, agents, [before]);
    const urls = [a.url, b.url];
    const load = startLoad(() => urls);
    await sleep(500);
    a.hold([after, before]);
    await sleep(200);
    b.hold([after, before]);
    await sleep(300);
    const late = await startReplica(t, agents, [after, before]);
    urls.push(late.url);
    await sleep(500);
    one.hold([after, before]);
    await sleep(500);
    const later = await startReplica(t, agents, [after, before]);
    urls.push(later.url);
    await sleep(500);
    two.hold([after, before]);
    await sleep(500);
    await load.stop();
    t.diagnostic(`${load.done()} calls`);
    assert.deepEqual(load.failures, []);
    assert.ok(load.done() > 50);

    // The rotation ends: sessions of the old key end with it, everything else goes on.
    const rest = startLoad(() => urls, { freshSessions: true });
    await sleep(300);
    for (const replica of [a, b, late, later]) replica.hold([after]);
    await sleep(300);
    for (const instance of [one, two]) instance.hold([after]);
    await sleep(500);
    await rest.stop();
    assert.deepEqual(
      rest.failures.filter((failure) => !/^in a session: 404/.test(failure)),
      [],
    );
  },
);

test('a change stream is opened with the key that the agent-server holds', bounded, async (t) => {
  const one = await startInstance(t, 'one', [before]);
  const agent = { namespace: 'default', name: 'demo', uid: 'uid-demo' };
  const keys = [after, before].map((master) => deriveAgentKey(master, agent));
  const stop = new AbortController();
  const { signal } = stop;
  const who = { address: one.server.address, keys, agent, instance: 'one' };
  const seen: AgentServerChange[] = [];
  await followChanges({ ...who, clock: systemClock, random: systemRandom, signal }, (change) => {
    seen.push(change);
    stop.abort();
  });
  assert.deepEqual(
    seen.map(({ type }) => type),
    ['hello'],
  );
});

test(
  'a router that ends under load fails no call, and says so before it stops to listen',
  bounded,
  async (t) => {
    const one = await startInstance(t, 'one', [before]);
    const agents = [agentAt([one.endpoint()])];
    const limits = { lameDuckMs: 1_000, drainMs: 5_000 };
    const a = await startReplica(t, agents, [before], limits);
    const b = await startReplica(t, agents, [before], limits);
    let ready = [a.url, b.url];
    const load = startLoad(() => ready);
    await sleep(500);
    const closing = a.router.close();
    const answer = await fetch(`${a.url}/ready`);
    assert.deepEqual([answer.status, await answer.json()], [503, { status: 'stopping' }]);
    assert.equal(answer.headers.get('connection'), 'close');
    assert.equal((await fetch(`${a.url}/health`)).status, 200, 'it is alive');
    // Endpoints follow readiness with a delay.
    await sleep(600);
    ready = [b.url];
    await closing;
    await assert.rejects(fetch(`${a.url}/ready`), 'it listens no more');
    const c = await startReplica(t, agents, [before], limits);
    ready = [b.url, c.url];
    await sleep(500);
    await load.stop();
    t.diagnostic(`${load.done()} calls`);
    assert.deepEqual(load.failures, []);
    assert.ok(load.done() > 50);
  },
);

test(
  'an instance that ends is left out before its connections break, and finishes what it runs',
  bounded,
  async (t) => {
    const limits = { drainDelayMs: 1_000, drainMs: 5_000 };
    const one = await startInstance(t, 'one', [before], limits);
    const two = await startInstance(t, 'two', [before], limits);
    const both = [agentAt([one.endpoint(), two.endpoint()])];
    const a = await startReplica(t, both, [before]);
    const b = await startReplica(t, both, [before]);
    const load = startLoad(() => [a.url, b.url]);
    await sleep(500);
    const closing = one.server.close();
    await sleep(300);
    for (const { tables } of [a, b])
      tables.set([agentAt([one.endpoint({ terminating: true }), two.endpoint()])]);
    await closing;
    for (const { tables } of [a, b]) tables.set([agentAt([two.endpoint()])]);
    await sleep(500);
    await load.stop();
    t.diagnostic(`${load.done()} calls`);
    assert.deepEqual(load.failures, []);
  },
);

const path = '/mcps/demo/mcp';

/** Two routers in front of two instances. */
async function twoByTwo(t: TestContext) {
  const one = await startInstance(t, 'one', [before]);
  const two = await startInstance(t, 'two', [before]);
  const agents = [agentAt([one.endpoint(), two.endpoint()])];
  const a = await startReplica(t, agents, [before]);
  const b = await startReplica(t, agents, [before]);
  const dispatcher = new HttpAgent();
  t.after(() => dispatcher.close());
  const call = async (url: string, session: Record<string, string>, name: string, id = 1) => {
    const params = { name, arguments: {} };
    const answer = await post(dispatcher, url, session, { jsonrpc: '2.0', id, method: 'tools/call', params });
    return /^data: (.+)$/m.exec(answer.text)?.[1] ?? answer.text;
  };
  return { one, two, a, b, dispatcher, call };
}

test(
  'a session keeps to one instance whichever router it comes through, and moves when that one goes',
  bounded,
  async (t) => {
    const { one, two, a, b, dispatcher, call } = await twoByTwo(t);
    const seen = new Set<string>();
    for (let round = 0; round < 6; round += 1) {
      const session = await openSession(dispatcher, a.url + path);
      const answers = await Promise.all([a, b, a, b].map(({ url }) => call(url + path, session, 'who')));
      const [first = ''] = answers;
      assert.equal(new Set(answers).size, 1, answers.join());
      const holder = /one|two/.exec(first)?.[0] ?? '';
      seen.add(holder);
      const other = holder === 'one' ? two : one;
      const leaving = holder === 'one' ? one : two;
      const left = [agentAt([leaving.endpoint({ terminating: true }), other.endpoint()])];
      for (const { tables } of [a, b]) tables.set(left);
      assert.match(await call(b.url + path, session, 'who'), new RegExp(other.uid));
      for (const { tables } of [a, b]) tables.set([agentAt([one.endpoint(), two.endpoint()])]);
    }
    t.diagnostic(`instances that held sessions: ${[...seen].join()}`);
  },
);

test('a queued task is found whichever router is asked and whichever instance has it', bounded, async (t) => {
  const { a, b, dispatcher, call } = await twoByTwo(t);
  for (let round = 0; round < 4; round += 1) {
    const session = await openSession(dispatcher, a.url + path);
    const id = /id ([0-9a-f]{16})/.exec(await call(a.url + path, session, 'later'))?.[1];
    for (const { url } of [a, b]) {
      const answer = await fetch(`${url}/mcps/demo/task?taskId=${id}`);
      assert.equal(answer.status, 200);
      assert.equal(((await answer.json()) as { task: { id: string } }).task.id, id);
    }
  }
  assert.equal((await fetch(`${a.url}/mcps/demo/task?taskId=0000000000000000`)).status, 404);
});

test(
  'a call of an aggregate is cancelled through another router than the one that carries it',
  bounded,
  async (t) => {
    const { a, b, dispatcher, call } = await twoByTwo(t);
    const session = await openSession(dispatcher, `${a.url}/mcp`);
    const begun = performance.now();
    const running = call(`${a.url}/mcp`, session, 'long', 7);
    await sleep(300);
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
    assert.equal((await post(dispatcher, `${b.url}/mcp`, session, cancelled)).status, 202);
    assert.match(await running, /cancel/i);
    assert.ok(performance.now() - begun < 10_000);
  },
);
