import assert from 'node:assert/strict';
import { type Message, textOf } from '#agent-server/bridge/testing.ts';
import { eventually } from '#agent-server/testing/harness.ts';
import type { MatrixClient } from '../client.ts';
import { type Cell, type Feature, isModern, plain, text } from '../feature.ts';

const done = { content: text('done') };
const steps = (told: readonly Message[], method: string) =>
  told.filter((message) => message.method === method).map(({ params }) => params);

const progress: Feature = {
  name: 'progress',
  what: 'of a call with a progress token, under the client’s own token, before the answer',
  async exercise({ way, connect }) {
    const client = await connect();
    const { answer, told } = await client.call('steps', {}, { params: { _meta: { progressToken: 'mine' } } });
    assert.deepEqual(plain(answer, way.client), done);
    const step = (at: number) => ({ progressToken: 'mine', progress: at, total: 2 });
    assert.deepEqual(steps(told, 'notifications/progress'), [step(1), step(2)]);
    const without = await client.call('steps');
    assert.deepEqual(steps(without.told, 'notifications/progress'), [], 'none that was not asked for');
    return 'passed';
  },
};

const logging: Feature = {
  name: 'logging',
  what: 'a call’s messages from the level on that the client asked for, by `logging/setLevel` or in the call',
  async exercise(cell) {
    const seen = async (level: string) => {
      const client = await clientAtLevel(cell, level);
      const { told } = await client.call('steps');
      return steps(told, 'notifications/message').map((params) => params?.['data']);
    };
    assert.deepEqual(await seen('info'), ['info 1', 'info 2']);
    assert.deepEqual(await seen('debug'), ['debug 1', 'info 1', 'debug 2', 'info 2']);
    assert.deepEqual(await seen('error'), []);
    return 'passed';
  },
};

async function clientAtLevel({ way, connect }: Cell, logLevel: string): Promise<MatrixClient> {
  if (isModern(way.client)) return connect({ logLevel });
  const client = await connect();
  assert.deepEqual(plain(await client.ask('logging/setLevel', { level: logLevel }), way.client), {});
  return client;
}

const cancellation: Feature = {
  name: 'cancellation',
  what: 'the server hears that the client gave up: `notifications/cancelled` of 2025, a closed stream of 2026',
  async exercise({ connect }) {
    const client = await connect();
    const counts = async () => {
      const said = textOf((await client.call('count')).answer);
      const [, hanging, cancelled] = /(\d+) hanging, (\d+) cancelled/.exec(said) ?? [];
      return { hanging: Number(hanging), cancelled: Number(cancelled) };
    };
    const before = await counts();
    await client.giveUp('hang', () =>
      eventually('the call runs', async () => (await counts()).hanging === before.hanging + 1, 20_000),
    );
    const isCancelled = async () => (await counts()).cancelled === before.cancelled + 1;
    await eventually('the server hears of it', isCancelled, 20_000);
    return 'passed';
  },
};

const ping: Feature = {
  name: 'ping',
  what: 'answered at once',
  async exercise({ way, connect }) {
    const answer = await (await connect()).ask('ping');
    if (answer.error === undefined) {
      assert.deepEqual(plain(answer, way.client), {});
      return 'passed';
    }
    assert.equal(answer.error.code, -32_601);
    return 'refused: R11';
  },
};

const subscriptions: Feature = {
  name: 'subscribe',
  what: 'changes of the resources that were subscribed to, and of no other; none any more after that ended',
  async exercise({ connect }) {
    const client = await connect();
    const touch = (uri: string) => client.call('touch', { uri });
    const updates = async (uris: readonly string[], touched: readonly string[]) => {
      const heard = await client.listen(uris);
      for (const uri of touched) await touch(uri);
      let told = await heard.next();
      // News of lists may come on the same stream.
      while (told.method !== 'notifications/resources/updated') told = await heard.next();
      await heard.close();
      return told.params?.['uri'];
    };
    assert.equal(await updates(['matrix://a'], ['matrix://b', 'matrix://a']), 'matrix://a');
    assert.equal(await updates(['matrix://c'], ['matrix://a', 'matrix://c']), 'matrix://c');
    return 'passed';
  },
};

let grown = 0;

const listChanged: Feature = {
  name: 'list_changed',
  what: 'of tools, resources and prompts, after which the lists have what came',
  async exercise({ connect }) {
    const client = await connect();
    // What was not asked for before may not be known to have changed.
    for (const kind of ['tools', 'resources', 'prompts']) await client.ask(`${kind}/list`);
    const heard = await client.listen([]);
    grown += 1;
    const name = `grown-${grown}`;
    await client.call('grow-all', { name });
    const missing = new Set(['tools', 'resources', 'prompts']);
    while (missing.size > 0) {
      const { method = '' } = await heard.next();
      const [, kind = ''] = /^notifications\/(\w+)\/list_changed$/.exec(method) ?? [];
      assert.ok(kind !== '', `something else: ${method}`);
      const { result } = await client.ask(`${kind}/list`);
      if (JSON.stringify(result).includes(name)) missing.delete(kind);
    }
    await heard.close();
    return 'passed';
  },
};

export const tellingFeatures: readonly Feature[] = [
  ...[progress, logging, cancellation, ping, subscriptions, listChanged],
];
