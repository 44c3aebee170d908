import type { Route } from '#api/route.ts';
import type { CacheEvent } from '#kube/cache.ts';
import { exceptStatus } from '#kube/sources.ts';

/**
 * False for what the controller writes into a Route's status, which changes no table. Specs are compared besides
 * generations, which begin anew when the API is set back to a backup.
 */
export function concernsTable(event: CacheEvent<Route>): boolean {
  if (event.old === undefined || exceptStatus(event)) return true;
  return JSON.stringify(event.object.spec) !== JSON.stringify(event.old.spec);
}
