import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import type { Operation } from './operations.ts';
import { openStore, type StoreClient } from './store-client.ts';
import type { FromThread, ToThread } from './thread.ts';

const counts = { pending: 0, running: 0, input_required: 0, completed: 0, failed: 0, cancelled: 0 };

interface Stand {
  readonly client: StoreClient;
  /** What the thread was told. */
  readonly told: ToThread[];
  readonly changes: string[];
  say(message: FromThread): void;
  end(): void;
}

/** A client whose thread does what the test says. */
async function stand(): Promise<Stand> {
  const emitter = new EventEmitter();
  const told: ToThread[] = [];
  const changes: string[] = [];
  const worker = Object.assign(emitter, { postMessage: (message: ToThread) => told.push(message) });
  const opening = openStore(worker as unknown as Worker, ({ status }) => changes.push(status));
  const say = (message: FromThread) => emitter.emit('message', message);
  say({ type: 'opened', notes: [], counts });
  return { client: await opening, told, changes, say, end: () => emitter.emit('exit') };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const get = (id: string): Operation => ({ type: 'get', id });
const sizes = (told: readonly ToThread[]) =>
  told.map((message) => (message.type === 'apply' ? message.operations.length : message.type));

test('what is asked in one turn, also because of an answer, shares a transaction', async () => {
  const { client, told, say } = await stand();
  const chained = Promise.resolve()
    .then(() => undefined)
    .then(() => client.ask(get('b')));
  const first = client.ask(get('a'));
  await turn();
  assert.deepEqual(sizes(told), [2]);
  void client.ask(get('c'));
  await turn();
  assert.deepEqual(sizes(told), [2], 'one transaction at a time');
  say({ type: 'answers', answers: [null, null], changes: [], counts });
  assert.deepEqual([await first, await chained], [null, null]);
  await turn();
  assert.deepEqual(sizes(told), [2, 1]);
});

test('a transaction has only so many operations, and only so many bytes', async () => {
  const { client, told, say } = await stand();
  for (let count = 0; count < 300; count++) void client.ask(get('a'));
  const responses = 'x'.repeat(5 * 1024 * 1024);
  for (let count = 0; count < 2; count++) void client.ask({ type: 'answer', id: 'a', responses, now: 0 });
  for (let count = 0; count < 3; count++) {
    await turn();
    const message = told.at(-1);
    const asked = message?.type === 'apply' ? message.operations : [];
    say({ type: 'answers', answers: asked.map(() => null), changes: [], counts });
  }
  assert.deepEqual(sizes(told), [256, 45, 1]);
});

test('of a transaction that failed what only reads is answered', async () => {
  const { client, say, changes } = await stand();
  const read = client.ask(get('a'));
  const written = client.ask({ type: 'cancel', id: 'a', now: 0 });
  const refused = assert.rejects(written, { code: 'QueueUnavailable', message: 'full', remedy: 'make room' });
  await turn();
  const failure = { code: 'QueueUnavailable', message: 'full', remedy: 'make room' };
  say({ type: 'answers', answers: [null, undefined], failure, changes: [], counts });
  assert.equal(await read, null);
  await refused;
  assert.deepEqual(changes, []);
});

test('one operation that failed is refused alone, and those without an answer are asked again', async () => {
  const { client, told, say } = await stand();
  const asked = ['a', 'b', 'c', 'd'].map((id) => client.ask(get(id)));
  const refused = assert.rejects(asked[1] as Promise<unknown>, { code: 'QueueDamaged', message: 'odd' });
  await turn();
  void client.ask(get('e'));
  const odd = { code: 'QueueDamaged', message: 'odd', remedy: undefined };
  say({ type: 'answers', answers: [null, undefined], refused: { 1: odd }, changes: [], counts });
  await refused;
  assert.equal(await asked[0], null);
  await turn();
  const again = told.at(-1);
  assert.ok(again?.type === 'apply');
  assert.deepEqual(again.operations, ['c', 'd', 'e'].map(get));
});

test('everything that was asked is refused when the thread ends', async () => {
  const { client, end } = await stand();
  const asked = Promise.all(
    [1, 2].map(() => assert.rejects(client.ask(get('a')), { code: 'QueueUnavailable' })),
  );
  end();
  await asked;
  assert.equal(client.isOver, true);
  await assert.rejects(client.ask(get('a')), { code: 'QueueUnavailable' });
});

test('the end waits for what was asked before', async () => {
  const { client, told, say } = await stand();
  void client.ask(get('a'));
  const closing = client.close();
  await turn();
  assert.deepEqual(sizes(told), [1]);
  say({ type: 'answers', answers: [null], changes: [], counts });
  await turn();
  assert.deepEqual(sizes(told), [1, 'close']);
  say({ type: 'closed' });
  await closing;
});
