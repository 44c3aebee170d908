import type { Clock } from '#kit/clock.ts';
import type { Client } from '#kube/client.ts';
import { ApiError } from '#kube/errors.ts';

const mostTries = 5;
/** Longest pause, in milliseconds, that a command waits out; who asks for more is believed to mean it. */
const longestPauseMs = 5_000;

/**
 * The same client, which asks again when the API did nothing but ask for patience (429 or 503 with Retry-After):
 * a storage that is being initialized, a server that has too much to do.
 */
export function patient(
  client: Client,
  { clock, interrupted }: { readonly clock: Clock; readonly interrupted: AbortSignal },
): Client {
  async function again<T>(ask: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask();
      } catch (error) {
        const pause = pauseOf(error);
        if (pause === undefined || tries === mostTries) throw error;
        await clock.sleep(pause, interrupted);
      }
    }
  }
  return {
    get: (resource, key, options) => again(() => client.get(resource, key, options)),
    find: (resource, key, options) => again(() => client.find(resource, key, options)),
    list: (resource, options) => again(() => client.list(resource, options)),
    create: (resource, object, options) => again(() => client.create(resource, object, options)),
    update: (resource, object, options) => again(() => client.update(resource, object, options)),
    patch: (resource, key, patch, options) => again(() => client.patch(resource, key, patch, options)),
    apply: (resource, object, options) => again(() => client.apply(resource, object, options)),
    applyStatus: (resource, current, status, options) =>
      again(() => client.applyStatus(resource, current, status, options)),
    scale: (resource, key, replicas, options) => again(() => client.scale(resource, key, replicas, options)),
    delete: (resource, key, options) => again(() => client.delete(resource, key, options)),
    watch: (resource, options) => again(() => client.watch(resource, options)),
    getText: (path, options) => again(() => client.getText(path, options)),
    readText: (path, options) => again(() => client.readText(path, options)),
    close: () => client.close(),
  };
}

/** Milliseconds; undefined: asking again is no use. */
function pauseOf(error: unknown): number | undefined {
  if (!(error instanceof ApiError) || (error.status !== 429 && error.status !== 503)) return undefined;
  const { retryAfterMs } = error;
  return retryAfterMs !== undefined && retryAfterMs <= longestPauseMs ? retryAfterMs : undefined;
}
