import type { Agent } from '#api/agent.ts';
import type { Driver } from '#drivers/driver.ts';
import type { Log } from '#kit/log.ts';
import type { Cache } from '#kube/cache.ts';

/**
 * Ends workloads whose Agent the API does not have (any more): the finalizer was removed by force, or the API's
 * data was put back to an earlier time. Their workspaces are kept: nobody asked to delete data.
 */
export async function removeOrphans(
  drivers: readonly Driver[],
  agents: Cache<Agent>,
  log: Log,
): Promise<void> {
  for (const driver of drivers) {
    if (driver.endsWithAgent === true) continue;
    for (const id of await driver.list()) {
      if (agents.get(id)?.metadata.uid === id.uid) continue;
      log.warn('ending a workload without an Agent', { driver: driver.name, ...id });
      await driver.remove(id, { retain: true });
    }
  }
}
