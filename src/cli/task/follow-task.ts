import { taskResource } from '#api/resources.ts';
import type { Task } from '#api/task.ts';
import type { Clock } from '#kit/clock.ts';
import type { Client } from '#kube/client.ts';
import { isUnavailable } from '#kube/errors.ts';

export interface FollowOptions {
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * A Task now and after each change, until it is gone (the last thing told is undefined) or the signal ends it. Watches;
 * a watch that ends or an API that is away for a while is begun again.
 */
export async function* followTask(client: Client, options: FollowOptions): AsyncGenerator<Task | undefined> {
  const { namespace, name, clock, signal } = options;
  const fieldSelector = `metadata.name=${name}`;
  while (!signal.aborted) {
    try {
      const list = await client.list<Task>(taskResource, { namespace, fieldSelector, signal });
      const [task] = list.items;
      yield task;
      if (task === undefined) return;
      const { resourceVersion } = list.metadata;
      const where = { namespace, fieldSelector, resourceVersion, signal };
      for await (const events of await client.watch<Task>(taskResource, where)) {
        for (const { type, object } of events) {
          if (type === 'ADDED' || type === 'MODIFIED') yield object;
          if (type === 'DELETED') {
            yield undefined;
            return;
          }
          if (type === 'ERROR') break;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isUnavailable(error)) throw error;
    }
    await clock.sleep(500, signal).catch(() => undefined);
  }
}
