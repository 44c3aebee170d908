import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '#api/meta.ts';
import { agentResource } from '#api/resources.ts';
import { systemClock } from '#kit/clock.ts';
import { type Client, createClient } from '#kube/client.ts';
import { ApiError } from '#kube/errors.ts';
import { patient } from './patient-client.ts';

/** A client whose `get` fails so often before it answers, and how often it was asked. */
function failing(times: number, error: Error) {
  const slept: number[] = [];
  let asked = 0;
  const endpoint = { origin: 'http://127.0.0.1:1', pathPrefix: '' };
  const client: Client = {
    ...createClient({ endpoint: endpoint as never, clock: systemClock }),
    async get<T extends KubeObject>() {
      if (++asked <= times) throw error;
      return { metadata: { name: 'a' } } as T;
    },
  };
  const clock = {
    ...systemClock,
    async sleep(ms: number) {
      slept.push(ms);
    },
  };
  const { get } = patient(client, { clock, interrupted: new AbortController().signal });
  return { ask: () => get(agentResource, { namespace: 'n', name: 'a' }), slept, asked: () => asked };
}

const busy = (status: number, retryAfterMs?: number) =>
  new ApiError({ status, message: 'storage is (re)initializing', retryAfterMs });

test('what the API asks to try again is tried again, after the time that it names', async () => {
  const { ask, slept } = failing(2, busy(429, 1_000));
  assert.equal((await ask()).metadata.name, 'a');
  assert.deepEqual(slept, [1_000, 1_000]);
});

test('patience ends after five tries, and is none without Retry-After, for long, or for another answer', async () => {
  const long = failing(9, busy(503, 1_000));
  await assert.rejects(long.ask(), { status: 503 });
  assert.equal(long.asked(), 5);
  for (const error of [busy(503), busy(429, 60_000), busy(409, 1_000)]) {
    const { ask, asked } = failing(1, error);
    await assert.rejects(ask(), { message: 'storage is (re)initializing' });
    assert.equal(asked(), 1);
  }
});
