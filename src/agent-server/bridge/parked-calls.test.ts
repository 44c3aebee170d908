import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '#kit/random.ts';
import { RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { createFakeClock, type FakeClock } from '#test/fixtures/fake-clock.ts';
import type { CallContext } from '../source.ts';
import { AskedCall } from './asked-call.ts';
import { createParkedCalls, digestOfCall, type ParkedCalls } from './parked-calls.ts';

const context: CallContext = {
  era: 'stateless',
  revision: '2026-07-28',
  session: undefined,
  requestId: 1,
  headers: {},
  claims: undefined,
  token: undefined,
  capabilities: { elicitation: {} },
  signal: new AbortController().signal,
  onProgress: undefined,
  logLevel: undefined,
  onLog: () => undefined,
};

function parkedCalls(clock: FakeClock, changes: { instance?: string; max?: number } = {}): ParkedCalls {
  const { instance = 'instance-1', max = 10 } = changes;
  const options = { clock, random: systemRandom, agent: 'agent:default/a', instance };
  return createParkedCalls({ ...options, ttlMs: 300_000, max, maxPerUser: 3 });
}

interface Asking {
  readonly call: AskedCall;
  /** What the server gets as its answer. */
  readonly answer: Promise<Result>;
  readonly signal: AbortSignal;
}

/** A call whose server has asked one thing, and waits for the answer until it is cancelled. */
async function askingCall(clock: FakeClock, method = 'elicitation/create'): Promise<Asking> {
  let answer: Promise<Result> = Promise.resolve({});
  let signal = context.signal;
  const as = { session: 's', capabilities: context.capabilities };
  const options = { clock, gatherMs: 15, graceMs: 1000, onDropped: () => undefined };
  const start = (own: CallContext) => {
    answer = own.ask?.(method, {}, new AbortController().signal) ?? answer;
    answer.catch(() => undefined);
    signal = own.signal;
    return new Promise<Result>((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason)),
    );
  };
  const call = new AskedCall(context, as, start, options);
  const next = call.next(context);
  await clock.advance(15);
  assert.equal(await next, undefined);
  return { call, answer, signal };
}

const claim = { user: 'ana', digest: digestOfCall('tools/call', { name: 'meet', arguments: { a: 1 } }) };
const invalid = (error: unknown) => error instanceof RpcError && error.code === -32_602;

test('a state brings its call back once, and only to who and what it is of (A5)', async () => {
  const clock = createFakeClock();
  const foreign = parkedCalls(clock, { instance: 'instance-2' });
  await fc.assert(
    fc.asyncProperty(
      fc.string(),
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.nat(),
      fc.integer({ min: 1, max: 300_000 }),
      async (user, args, position, later) => {
        const parked = parkedCalls(clock);
        const { call } = await askingCall(clock);
        const state = String(parked.park(call, claim)['requestState']);
        const at = position % state.length;
        const changed = `${state.slice(0, at)}${state[at] === 'A' ? 'B' : 'A'}${state.slice(at + 1)}`;
        const digest = digestOfCall('tools/call', { name: 'meet', arguments: args });
        assert.throws(() => parked.take(changed, claim), invalid);
        assert.throws(() => foreign.take(state, claim), invalid);
        if (user !== claim.user) assert.throws(() => parked.take(state, { ...claim, user }), invalid);
        if (digest !== claim.digest) assert.throws(() => parked.take(state, { ...claim, digest }), invalid);
        await clock.advance(later - 1);
        assert.equal(parked.take(state, claim), call);
        assert.throws(() => parked.take(state, claim), invalid);
        call.cancel(new Error('the test is over'));
      },
    ),
    { numRuns: 50 },
  );
});

test('a call that nobody comes back for is told cancel, then cancelled (A4)', async () => {
  const clock = createFakeClock();
  const parked = parkedCalls(clock);
  const form = await askingCall(clock);
  const model = await askingCall(clock, 'sampling/createMessage');
  const states = [form, model].map(({ call }) => parked.park(call, claim)['requestState']);
  await clock.advance(299_999);
  assert.equal(parked.size, 2);
  await clock.advance(1);
  assert.deepEqual(await form.answer, { action: 'cancel' });
  await assert.rejects(model.answer, { code: -32_603 });
  assert.equal(form.signal.aborted, false, 'it may end by itself');
  await clock.advance(1000);
  assert.deepEqual([form.signal.aborted, model.signal.aborted], [true, true]);
  for (const state of states) assert.throws(() => parked.take(state, claim), /nobody came back within 300 s/);
  assert.equal(parked.size, 0);
});

test('one user’s oldest call makes room for the newest, and nobody else’s does (A6)', async () => {
  const clock = createFakeClock();
  const parked = parkedCalls(clock, { max: 4 });
  const own = [await askingCall(clock), await askingCall(clock), await askingCall(clock)];
  for (const { call } of own) parked.park(call, claim);
  const fourth = await askingCall(clock);
  parked.park(fourth.call, claim);
  assert.deepEqual(await own[0]?.answer, { action: 'cancel' });
  assert.equal(parked.size, 3);
  parked.park((await askingCall(clock)).call, { ...claim, user: 'ben' });
  const tooMany = await askingCall(clock);
  assert.throws(() => parked.park(tooMany.call, { ...claim, user: 'eve' }), { code: -32_603 });
  assert.equal(tooMany.signal.aborted, true);
  parked.close();
  assert.equal(fourth.signal.aborted, true);
});

test('nothing is left of a call that was taken up and ended', async () => {
  const clock = createFakeClock();
  const parked = parkedCalls(clock);
  const { call, answer } = await askingCall(clock);
  const [key = ''] = call.questions.keys();
  const state = parked.park(call, claim)['requestState'];
  parked.take(state, claim).answer({ [key]: { action: 'decline' } });
  assert.deepEqual(await answer, { action: 'decline' });
  call.cancel(new Error('the test is over'));
  await assert.rejects(call.next(context));
  assert.deepEqual([parked.size, clock.pending], [0, 0]);
});

test('of callers that cannot be told apart nobody makes room for another (A6)', async () => {
  const clock = createFakeClock();
  const parked = parkedCalls(clock, { max: 4 });
  const nobody = { ...claim, user: '', anonymous: true };
  const calls = await Promise.all([1, 2, 3, 4].map(() => askingCall(clock)));
  for (const { call } of calls) parked.park(call, nobody);
  assert.equal(parked.size, 4);
  const tooMany = await askingCall(clock);
  assert.throws(() => parked.park(tooMany.call, nobody), { code: -32_603 });
  parked.close();
});
