import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { defaultLimits } from '../../limits.ts';
import { createTransfers } from './transfers.ts';

const limits = { timeout: 20_000 };
const mebibyte = 1024 * 1024;

/** How often memory was given back while an answer of so many bytes passed, and what still waits for the clock then. */
async function reclaimsOf(t: TestContext, bytes: number): Promise<{ times: number; pending: number }> {
  const clock = createFakeClock();
  let times = 0;
  const reclaim = () => {
    times += 1;
  };
  const transfers = createTransfers({ limits: defaultLimits, clock, reclaim });
  const server = createServer((request, response) => {
    assert.ok(transfers.begin('demo', response));
    request.resume();
    response.write(Buffer.alloc(bytes), () => {
      void clock.advance(100).then(() => response.end());
    });
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer();
  await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(100);
  return { times, pending: clock.pending };
}

test('memory is given back for what has passed, not for the time that it took', limits, async (t) => {
  assert.deepEqual(await reclaimsOf(t, 9 * mebibyte), { times: 1, pending: 0 });
  assert.deepEqual(await reclaimsOf(t, 1000), { times: 0, pending: 0 }, 'control: little has passed');
});
