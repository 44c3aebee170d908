import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { openChanges } from '#wire/changes.ts';
import { deriveAgentKey } from '#wire/keys.ts';
import { masterKey } from '#wire/testing.ts';
import { agentAt, startInstance, startLoad, startReplica } from './replicas.ts';

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
  const changes = openChanges({
    address: one.server.address,
    keys,
    agent,
    instance: 'one',
    clock: systemClock,
    random: systemRandom,
    signal: stop.signal,
  });
  const first = await changes.next();
  assert.equal(first.value?.type, 'hello');
  stop.abort();
  await changes.return();
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
