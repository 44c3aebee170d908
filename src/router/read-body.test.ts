import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestRouter } from './testing/harness.ts';

const limits = { timeout: 30_000 };

test(
  'after some MiB of large bodies what they leave is freed, refused ones counted; small ones never ask for it',
  limits,
  async (t) => {
    let freed = 0;
    const router = await startTestRouter(t, [{ name: 'demo' }], {
      reclaim: () => {
        freed += 1;
      },
    });
    const url = await router.listen();
    const send = (bytes: number) =>
      fetch(`${url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: new Blob(['x'.repeat(bytes)]).stream(),
        duplex: 'half',
      } as RequestInit).then(
        ({ status }) => status,
        () => 413,
      );
    for (let count = 0; count < 50; count += 1) assert.equal(await send(200_000), 400);
    assert.equal(freed, 0);
    assert.equal(await send(5_000_000), 413);
    assert.equal(freed, 0);
    assert.equal(await send(3_900_000), 400);
    assert.equal(await send(3_900_000), 400);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(freed, 1);
  },
);
