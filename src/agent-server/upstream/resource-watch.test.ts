import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#kit/log.ts';
import { RpcError } from '#mcp/jsonrpc.ts';
import { settle } from '#test/fixtures/fake-clock.ts';
import type { CallContext } from '../source.ts';
import type { UpstreamConnection } from './connection.ts';
import { createResourceWatch } from './resource-watch.ts';

const { signal } = new AbortController();
const context = (session: string): CallContext => ({
  era: 'sessions',
  revision: '2025-11-25',
  session,
  requestId: 1,
  headers: {},
  claims: undefined,
  token: undefined,
  capabilities: {},
  signal,
  onProgress: undefined,
  logLevel: undefined,
  onLog: () => undefined,
});

/** An upstream that has sessions and refuses `test://bad`; its answers to subscribers wait for `answer`. */
function startWatch() {
  const told: string[] = [];
  const answer = Promise.withResolvers<void>();
  let slow = false;
  const upstream: UpstreamConnection = {
    info: { revision: '2025-11-25', capabilities: {}, instructions: undefined },
    async request(method, { uri }) {
      told.push(`${method} ${uri}`);
      if (slow && method === 'resources/subscribe') await answer.promise;
      if (uri === 'test://bad') throw new RpcError(-32_602, 'no such resource');
      return {};
    },
    closed: new Promise(() => undefined),
    subscribe: async () => undefined,
    unsubscribe: () => undefined,
    close: async () => undefined,
  };
  const watch = createResourceWatch({
    log: silentLog,
    timeoutMs: 1000,
    signal,
    connection: async () => upstream,
  });
  const slowDown = () => {
    slow = true;
  };
  return { watch, told, answer: answer.resolve, slowDown };
}

const resource = { uri: 'test://a' };

test('who begins to listen while the last listener ends goes on hearing', async () => {
  const { watch, told, answer, slowDown } = startWatch();
  await watch.request('resources/subscribe', resource, context('ana'));
  slowDown();
  const second = watch.request('resources/subscribe', resource, context('ben'));
  await settle();
  watch.endSession('ana');
  answer();
  await second;
  await settle();
  assert.deepEqual(told, ['resources/subscribe test://a', 'resources/subscribe test://a']);
  watch.endSession('ben');
  await settle();
  assert.equal(told.at(-1), 'resources/unsubscribe test://a');
});

test('what the upstream refuses is held by nobody', async () => {
  const { watch, told } = startWatch();
  await assert.rejects(watch.request('resources/subscribe', { uri: 'test://bad' }, context('ana')));
  watch.endSession('ana');
  await settle();
  assert.deepEqual(told, ['resources/subscribe test://bad']);
});
