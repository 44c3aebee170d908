import type { Check, Cli, Cluster } from '../../context.ts';
import type { GlobalOptions } from '../../target.ts';
import { checkAgents } from './agents.ts';
import { checkApi } from './api.ts';
import { checkDefinitions } from './definitions.ts';
import { checkController, checkRouters, readInstallation } from './programs.ts';
import { checkRights } from './rights.ts';
import { checkStorage } from './storage.ts';

/** What `ploinky doctor` looks at in a cluster, in the order in which it is shown. */
export function clusterChecks(cli: Cli, cluster: Cluster, options: GlobalOptions): Check[] {
  const installation = readInstallation(cli, cluster, options);
  const home = installation.then(
    (found) => (typeof found === 'object' ? found.namespace : options.homeNamespace),
    () => options.homeNamespace,
  );
  return [
    { name: 'API', run: () => checkApi(cluster) },
    { name: 'CRDs', run: () => checkDefinitions(cluster) },
    { name: 'Controller', run: async () => checkController(cluster, await installation) },
    { name: 'Routers', run: async () => checkRouters(cluster, await installation) },
    { name: 'Rights', run: () => checkRights(cluster, home) },
    { name: 'Storage', run: () => checkStorage(cluster) },
    { name: 'Agents', run: () => checkAgents(cluster) },
  ];
}
