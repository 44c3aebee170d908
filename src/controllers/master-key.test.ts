import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secret } from '#api/meta.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import { ApiError, TransportError } from '#kube/errors.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { masterKeysFromSecret } from '#wire/keys.ts';
import { awaitMasterKey, ensureMasterKey } from './master-key.ts';

function createApi(failures: unknown[] = []) {
  const api = { stored: undefined as Secret | undefined, created: 0 };
  const client = {
    async find() {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return api.stored;
    },
    async create(_resource: unknown, secret: Secret) {
      api.created += 1;
      if (api.stored !== undefined)
        throw new ApiError({ status: 409, reason: 'AlreadyExists', message: 'there' });
      api.stored = secret;
      return secret;
    },
  } as unknown as Pick<Client, 'find' | 'create'>;
  return { api, client };
}

const tools = () => ({ clock: createFakeClock(), random: systemRandom, log: silentLog });

test('an absent master key is made, of 32 random bytes', async () => {
  const { api, client } = createApi();
  await ensureMasterKey(client, 'default', systemRandom);
  assert.ok(api.stored !== undefined);
  assert.equal(masterKeysFromSecret(api.stored)[0]?.secret.length, 32);
});

test('one that is there is never touched', async () => {
  const { api, client } = createApi();
  await ensureMasterKey(client, 'default', systemRandom);
  const before = api.stored;
  await ensureMasterKey(client, 'default', systemRandom);
  assert.deepEqual([api.stored, api.created], [before, 1]);
});

test('an API that is away is waited for', async () => {
  const away = new TransportError('ConnectFailed', 'nobody listens');
  const { api, client } = createApi([away, away, away]);
  const { clock, ...rest } = tools();
  const done = awaitMasterKey(client, 'default', { clock, ...rest });
  await clock.advance(1_000);
  await done;
  assert.equal(api.created, 1);
});

test('a refusal is not waited out', async () => {
  const { client } = createApi([new ApiError({ status: 403, message: 'no' })]);
  await assert.rejects(awaitMasterKey(client, 'default', tools()), /no/);
});
