import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { codeOf } from '#kit/errors.ts';
import { systemRandom } from '#kit/random.ts';
import { answerChallenge, isNonce, proofPath } from './challenge.ts';
import { handOver, handOverPath } from './hand-over.ts';
import { deriveAgentKey } from './keys.ts';
import { demoAgent, masterKey } from './testing.ts';

const limits = { timeout: 20_000 };
const key = deriveAgentKey(masterKey(1), demoAgent);

/** A hand-over to an agent-server that answers it with this status: the code of its error, and how things went. */
async function give(t: TestContext, status: number): Promise<{ code: string | undefined; steps: string[] }> {
  const steps: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://agent');
    const nonce = url.searchParams.get('nonce');
    const isProof = url.pathname === proofPath && isNonce(nonce);
    steps.push(isProof ? 'proof' : url.pathname);
    if (isProof) response.end(JSON.stringify(answerChallenge(key, 'w1', nonce)));
    else response.writeHead(status).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const given = handOver({
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ keys: [key], instance: 'w1', agent: demoAgent, random: systemRandom, secrets: {} },
    now() {
      steps.push('now');
      return Date.now();
    },
  });
  return { code: await given.then(() => undefined, codeOf), steps };
}

test('a hand-over says when it is once the connection stands', limits, async (t) => {
  const { code, steps } = await give(t, 204);
  assert.equal(code, undefined);
  assert.deepEqual(steps, ['proof', 'now', handOverPath]);
});

for (const [code, statuses] of Object.entries({
  Refused: [404, 405],
  NotTaken: [400, 401, 403, 429, 500, 503],
})) {
  for (const status of statuses) {
    test(`HTTP ${status} to a hand-over is ${code}`, limits, async (t) => {
      assert.equal((await give(t, status)).code, code);
    });
  }
}
