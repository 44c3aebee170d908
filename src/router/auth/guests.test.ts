import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { agentOf, startTestRouter } from '../testing/harness.ts';

const json = { host: 'localhost', 'content-type': 'application/json', accept: 'application/json' };

test('guests come in so many at a time, and one who comes again is nothing to write down', async (t) => {
  const writes: unknown[] = [];
  const logouts = { current: () => ({}), write: async (entries: unknown) => void writes.push(entries) };
  const clock = createFakeClock(Date.now());
  const { agents, tables, inject } = await startTestRouter(t, [{ name: 'demo', clock }], { clock, logouts });
  const [demo] = agents.map((agent) => agentOf(agent));
  if (demo === undefined) throw new Error('no agent');
  tables.set([{ ...demo, spec: { ...demo.spec, auth: { mode: 'guest' } } }]);
  let cookie = '';
  const send = async (url: string) => {
    const answer = await inject({ method: 'POST', url, headers: { ...json, cookie }, payload: '{}' });
    cookie = String(answer.headers['set-cookie'] ?? cookie).split(';')[0] ?? '';
    return answer.statusCode;
  };
  const seen: number[] = [];
  for (let count = 0; count < 100; count += 1) seen.push(await send('/auth/login'));
  assert.deepEqual([...new Set(seen)], [200, 429]);
  assert.equal(seen.filter((status) => status === 200).length, 60);
  assert.equal(writes.length, 0);
  await clock.advance(1_000);
  assert.equal(await send('/auth/login'), 200);
  await send('/auth/logout');
  assert.equal(writes.length, 1, 'the control: a logout is told');
});
