import type { Secret } from '#api/meta.ts';
import { secretResource } from '#api/resources.ts';
import { backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import { isAlreadyExists, isUnavailable } from '#kube/errors.ts';
import { masterSecretName } from '#wire/keys.ts';

const retry = { initial: 100, max: 2_000 };

/** As `ensureMasterKey`, waiting for an API that is not there yet or not well for as long as it takes. */
export async function awaitMasterKey(
  client: Pick<Client, 'find' | 'create'>,
  namespace: string,
  {
    clock,
    random,
    log,
    signal,
  }: {
    readonly clock: Clock;
    readonly random: Random;
    readonly log: Log;
    readonly signal?: AbortSignal;
  },
): Promise<void> {
  for (let failures = 1; ; failures += 1) {
    try {
      await ensureMasterKey(client, namespace, random);
      return;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      if (failures === 1) log.info('waiting for the API', { error });
      await clock.sleep(backoffDelay(retry, failures), signal);
    }
  }
}

/**
 * Creates the master key when it is absent, and never touches one that is there: no template renders it, because
 * a template would render a new one each time. Two controllers that race end with one key.
 */
export async function ensureMasterKey(
  client: Pick<Client, 'find' | 'create'>,
  namespace: string,
  random: Random,
): Promise<void> {
  const key = { namespace, name: masterSecretName };
  if ((await client.find<Secret>(secretResource, key)) !== undefined) return;
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: masterSecretName, namespace },
    type: 'ploinky.dev/master-key',
    data: { current: random.bytes(32).toString('base64') },
  };
  try {
    await client.create(secretResource, secret, { fieldManager: 'ploinky-controller' });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
