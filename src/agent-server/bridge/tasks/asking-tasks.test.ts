import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '#kit/random.ts';
import type { Result } from '#mcp/results.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { CallContext } from '../../source.ts';
import { createAskingTasks } from './asking-tasks.ts';

const capabilities = { elicitation: {} };

/** As whose request a task is asked for; a caller without a user has none. */
const contextOf = (sub: string): CallContext => ({
  ...{ era: 'stateless', revision: '2026-07-28', session: undefined, requestId: 1, headers: {} },
  claims: { caller: 'router:first-party', sub } as CallContext['claims'],
  ...{ token: undefined, capabilities, signal: new AbortController().signal },
  ...{ onProgress: undefined, logLevel: undefined, onLog: () => undefined },
});

/** Tasks whose server asks one thing each; `answers` has what it is told, by their keys; `ended`, whose request is over. */
function start(limits: { max: number; maxPerUser: number }) {
  const clock = createFakeClock();
  const asking = createAskingTasks({
    ...{ clock, random: systemRandom, ttlMs: 300_000, gatherMs: 15, graceMs: 1000 },
    ...{ ...limits, onDropped: () => undefined },
  });
  const answers = new Map<string, Result>();
  const ended: string[] = [];
  const look = async (sub: string, key: string) => {
    const send = async (own: CallContext) => {
      own.signal.addEventListener('abort', () => ended.push(key));
      const answer = await own.ask?.('elicitation/create', {}, new AbortController().signal);
      answers.set(key, answer ?? {});
      return { content: [] };
    };
    const link = { session: `of ${sub}`, capabilities };
    const questions = asking.questions(key, { link, context: contextOf(sub), send });
    questions.catch(() => undefined);
    await clock.advance(15);
    return questions;
  };
  return { asking, answers, ended, clock, look };
}

test('the task of a user that was not asked for the longest makes room, and no other’s (K7)', async () => {
  const { answers, clock, look } = start({ max: 10, maxPerUser: 2 });
  await look('ben', 'of Ben');
  await look('ana', 'first');
  await look('ana', 'second');
  const again = await look('ana', 'first');
  assert.equal(Object.keys(again ?? {}).length, 1);
  assert.deepEqual([...answers.keys()], []);
  await look('ana', 'third');
  await clock.advance(0);
  assert.deepEqual([...answers], [['second', { action: 'cancel' }]]);
  await look('ana', 'fourth');
  await clock.advance(0);
  assert.deepEqual([...answers.keys()], ['second', 'first']);
});

test('callers without a user are many, and only the limit of all is theirs (K7)', async () => {
  const { answers, look } = start({ max: 3, maxPerUser: 2 });
  for (const key of ['first', 'second', 'third']) await look('', key);
  assert.deepEqual([...answers.keys()], []);
  await assert.rejects(look('', 'fourth'), { code: -32_603, message: /More than 3 tasks/ });
});

test('all that ask end with the agent-server (K7)', async () => {
  const { asking, ended, look } = start({ max: 10, maxPerUser: 2 });
  await look('ana', 'of Ana');
  await look('ben', 'of Ben');
  const { close } = asking;
  close();
  assert.deepEqual(ended, ['of Ana', 'of Ben']);
});
