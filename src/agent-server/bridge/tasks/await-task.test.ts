import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RpcError } from '#mcp/jsonrpc.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { CallContext } from '../../source.ts';
import { awaitTask } from './await-task.ts';

const working = { taskId: '1', status: 'working', pollIntervalMs: 5000 };

/** What is asked of a server whose task says this, one after the other. */
function serverSaying(...states: object[]) {
  const asked: string[] = [];
  const send = async (method: string) => {
    asked.push(method);
    return { ...working, ...(method === 'tasks/get' ? states.shift() : {}) };
  };
  return { asked, send };
}

function waiting(server: ReturnType<typeof serverSaying>, timeoutMs = 60_000, begun = working) {
  const clock = createFakeClock();
  const options = { clock, timeoutMs, answerMs: 1000, maxRounds: 1, mintId: () => 'id' };
  const stop = new AbortController();
  const context = {
    signal: stop.signal,
    capabilities: { elicitation: {} },
    ask: async () => ({ action: 'accept' }),
  } as unknown as CallContext;
  return { clock, stop, result: awaitTask(begun, context, server.send, options) };
}

test('a task is asked for as often as its server wants (R13)', async () => {
  const server = serverSaying({}, { pollIntervalMs: 100 }, { status: 'completed', result: { content: [] } });
  const { clock, result } = waiting(server);
  await clock.advance(4999);
  assert.equal(server.asked.length, 0);
  await clock.advance(1);
  assert.equal(server.asked.length, 1);
  await clock.advance(5000);
  await clock.advance(100);
  assert.deepEqual(await result, { content: [] });
  assert.deepEqual(server.asked, ['tasks/get', 'tasks/get', 'tasks/get']);
});

test('the result of a task that ended before its beginning was told is asked for (R13)', async () => {
  const server = serverSaying({ status: 'completed', result: { content: [{ type: 'text', text: 'fast' }] } });
  const { result } = waiting(server, 60_000, { ...working, status: 'completed' });
  assert.deepEqual(await result, { content: [{ type: 'text', text: 'fast' }] });
  assert.deepEqual(server.asked, ['tasks/get']);
});

test('a task that takes too long, or was cancelled by others, ends the call (R13)', async () => {
  const slow = serverSaying();
  const late = waiting(slow, 12_000);
  const rejected = assert.rejects(late.result, { code: -32_603 });
  await late.clock.advance(12_000);
  await rejected;
  assert.equal(slow.asked.at(-1), 'tasks/cancel');
  const ended = serverSaying({ status: 'cancelled' });
  const other = waiting(ended);
  const told = assert.rejects(other.result, /was cancelled/);
  await other.clock.advance(5000);
  await told;
  assert.deepEqual(ended.asked, ['tasks/get']);
});

test('a question is put once, and a task that asks too often is cancelled (R13, A2)', async () => {
  const asks = (key: string) => ({
    status: 'input_required',
    pollIntervalMs: 100,
    inputRequests: { [key]: { method: 'elicitation/create', params: { message: 'so?' } } },
  });
  const server = serverSaying(asks('a'), asks('a'), asks('b'));
  const { clock, result } = waiting(server);
  const rejected = assert.rejects(
    result,
    (error) => error instanceof RpcError && /more than 1 times/.test(error.message),
  );
  await clock.advance(5000);
  await clock.advance(100);
  await rejected;
  assert.deepEqual(server.asked, ['tasks/get', 'tasks/update', 'tasks/get', 'tasks/get', 'tasks/cancel']);
});
