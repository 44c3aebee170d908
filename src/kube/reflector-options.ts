import type { KubeObject, Resource } from '#api/meta.ts';
import type { BackoffOptions } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { CacheWriter } from './cache.ts';
import type { Client } from './client.ts';
import type { SelectOptions } from './client-options.ts';
import type { Metrics } from './metrics.ts';

export interface ReflectorOptions<T extends KubeObject> extends SelectOptions {
  readonly client: Client;
  readonly resource: Resource;
  readonly store: CacheWriter<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Objects per page of a list. Default 500. */
  readonly pageSize?: number;
  /** A watch from which nothing came for this long is taken for dead. Default 150,000 ms: bookmarks come each minute. */
  readonly idleLimitMs?: number;
  /** The server is asked to end a watch after this long, times 1 to 2. Default 300,000 ms. */
  readonly watchTimeoutMs?: number;
  /** A watch that lived this long was healthy, whatever ended it. Default 10,000 ms. */
  readonly healthyMs?: number;
  /** Between attempts. Default 250 ms, doubling to 4,000 ms, ±25 %; the server's Retry-After when that is longer. */
  readonly backoff?: BackoffOptions;
  /** Between attempts while the API refuses access. Default: as for any failure. */
  readonly forbiddenBackoff?: BackoffOptions;
  /** Told after each attempt how it went: undefined when a list was complete or a watch accepted, else the error. */
  readonly onHealth?: (error: unknown) => void;
}
