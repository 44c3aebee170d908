import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '#kit/random.ts';
import { splitParkState } from '#mcp/bridge/park-state.ts';
import type { RequestId } from '#mcp/jsonrpc.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { Exchange } from '../http/exchange.ts';
import { askClient, takeAnswer } from './questions.ts';
import type { Session } from './session.ts';
import { createSessions } from './sessions.ts';

/** A session as an agent-server has it that has just begun. */
function beginSession(instance: string): Session {
  const sessions = createSessions({
    ...{ clock: createFakeClock(), random: systemRandom, instance },
    ...{ maxSessions: 10, idleMs: 1000 },
  });
  return sessions.open('s', '2025-11-25') ?? assert.fail('no session');
}

/** Puts a question; gives its id, and what became of it. */
function ask(session: Session): { readonly id: RequestId; readonly answers: unknown[] } {
  const told: { id: RequestId }[] = [];
  const exchange = {
    notify(message: { id: RequestId }) {
      told.push(message);
      return true;
    },
    onDisconnect: () => {},
  } as unknown as Exchange;
  const answers: unknown[] = [];
  askClient(session, exchange, { method: 'roots/list', params: {} }, new AbortController().signal).then(
    (answer) => answers.push(answer),
    assert.fail,
  );
  return { id: told[0]?.id ?? assert.fail('nothing was asked'), answers };
}

const answerTo = (id: RequestId, result = {}) => ({ jsonrpc: '2.0' as const, id, result });
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('the id of a question names the instance where its answer is waited for', () => {
  const session = beginSession('instance-1');
  const [one, other] = [ask(session), ask(session)];
  for (const { id } of [one, other]) assert.equal(splitParkState(id)?.instance, 'instance-1');
  assert.notEqual(one.id, other.id);
});

test('the answer to a question of an earlier life of the agent-server is taken for none of its own', async () => {
  const before = ask(beginSession('instance-1'));
  const session = beginSession('instance-1');
  const now = ask(session);
  takeAnswer(session, answerTo(before.id, { stale: true }));
  await settled();
  assert.deepEqual(now.answers, []);
  takeAnswer(session, answerTo(now.id, { fresh: true }));
  await settled();
  assert.deepEqual([before.answers, now.answers], [[], [{ fresh: true }]]);
});
