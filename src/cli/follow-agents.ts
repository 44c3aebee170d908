import type { Agent } from '#api/agent.ts';
import { agentResource } from '#api/resources.ts';
import type { Clock } from '#kit/clock.ts';
import type { Client } from '#kube/client.ts';
import { isUnavailable } from '#kube/errors.ts';

/**
 * The agents of a namespace now and after each change, as a map by name, until the signal ends it.
 * Lists once and watches from there; a watch that ends or an API that is away for a while is begun again.
 */
export async function* followAgents(
  client: Client,
  options: { namespace: string; clock: Clock; signal: AbortSignal },
): AsyncGenerator<ReadonlyMap<string, Agent>> {
  const { namespace, clock, signal } = options;
  while (!signal.aborted) {
    try {
      const list = await client.list<Agent>(agentResource, { namespace, signal });
      const agents = new Map(list.items.map((agent) => [agent.metadata.name, agent]));
      yield agents;
      const { resourceVersion } = list.metadata;
      const batches = await client.watch<Agent>(agentResource, { namespace, resourceVersion, signal });
      for await (const events of batches) {
        for (const { type, object } of events) {
          if (type === 'ADDED' || type === 'MODIFIED') agents.set(object.metadata.name, object as Agent);
          if (type === 'DELETED') agents.delete(object.metadata.name);
          if (type === 'ERROR') break;
        }
        if (events.length > 0) yield agents;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isUnavailable(error)) throw error;
    }
    await clock.sleep(500, signal).catch(() => undefined);
  }
}
