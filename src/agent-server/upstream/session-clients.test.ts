import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock, settle } from '#test/fixtures/fake-clock.ts';
import type { CallContext } from '../source.ts';
import { type AnswerQuestion, createSessionClients } from './session-clients.ts';

const { signal } = new AbortController();

/** What asks a client outside of its call, while that call runs. */
async function asker(anonymous: boolean, oneByOne: boolean): Promise<() => Promise<unknown>> {
  let answer: AnswerQuestion | undefined;
  const context: CallContext = {
    era: 'sessions',
    revision: '2025-11-25',
    session: 'stateless:1',
    requestId: 1,
    headers: {},
    claims: undefined,
    token: undefined,
    capabilities: { elicitation: {} },
    signal,
    onProgress: undefined,
    logLevel: undefined,
    onLog: () => undefined,
    ask: async () => ({ action: 'accept' }),
    anonymous,
  };
  const clients = createSessionClients({
    ...{ clock: createFakeClock(), idleMs: 1000, max: 1, oneByOne },
    async open(_capabilities, answerOf) {
      answer = answerOf;
      const never = new Promise<never>(() => undefined);
      return { request: () => never, closed: never, held: false, end: async () => undefined };
    },
  });
  void clients.request('tools/call', {}, { signal, timeoutMs: 1000, context });
  await settle();
  return async () => answer?.('elicitation/create', {}, undefined, signal);
}

test('who shares a session with strangers is asked nothing outside of a call (A11)', async () => {
  const refused = await asker(true, false);
  await assert.rejects(refused, { code: -32_603 });
  for (const [anonymous, oneByOne] of [
    [false, false],
    [true, true],
  ] as const) {
    const ask = await asker(anonymous, oneByOne);
    assert.deepEqual(await ask(), { action: 'accept' });
  }
});
