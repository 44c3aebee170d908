import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { AgentServerError, type AgentServerErrorCode } from '../errors.ts';
import { followStream } from './http-listen.ts';

/** What becomes of a stream that cannot be had, for this reason, for five minutes. */
async function follow(code: AgentServerErrorCode): Promise<{ asked: number; lost: string[] }> {
  const clock = createFakeClock();
  const stop = new AbortController();
  const lost: string[] = [];
  let asked = 0;
  const get = () => {
    asked += 1;
    return Promise.reject(new AgentServerError(code, 'no'));
  };
  const followed = followStream(
    { clock, get, onMissed: () => undefined, onLost: (reason) => lost.push(reason) },
    stop.signal,
  );
  await clock.advance(300_000);
  stop.abort();
  await followed;
  return { asked, lost };
}

test('a stream that cannot be reached twice in a row means that the server is lost', async () => {
  assert.deepEqual(await follow('UpstreamLost'), { asked: 2, lost: ['no'] });
});

for (const code of ['UpstreamBusy', 'UpstreamUnauthorized'] as const) {
  test(`a stream is asked for again, and nothing is lost, after ${code}`, async () => {
    const { asked, lost } = await follow(code);
    assert.ok(asked > 5 && asked < 20, `${asked}`);
    assert.deepEqual(lost, []);
  });
}
