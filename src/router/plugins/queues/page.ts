import { surfacesAt } from '#routing/resolve.ts';
import type { RoutingTable } from '#routing/table.ts';
import type { Target } from '#routing/target.ts';
import { writeJson } from '../../mcp/answer.ts';
import { type Page, writeNotFound } from '../../page.ts';
import { queuesPath } from '../../paths.ts';
import { factsOf, isFromAgent } from '../../request.ts';
import type { Services } from '../../services.ts';
import { createGather } from './gather.ts';

/**
 * `GET /.ploinky/queues`: what waits and runs at each agent that appears at the host that was asked, now. Names tools,
 * which whoever is served there may list, and no task. Not for what runs inside sandboxes.
 */
export function queuesPage(services: Services): Page {
  const gather = createGather(services);
  return {
    at: queuesPath,
    methods: ['GET'],
    async serve(request, response) {
      if (isFromAgent(request)) {
        writeNotFound(response);
        return;
      }
      const all = agentsAt(services.tables.current(), factsOf(request).host);
      const asked = all.slice(0, services.limits.queueAgents);
      const agents = await gather(asked);
      writeJson(
        response,
        200,
        { agents, omitted: all.length - asked.length },
        { 'cache-control': 'no-store' },
      );
    },
  };
}

/** In order of namespace and name. What not everybody may reach is not there: nobody is asked who they are here. */
function agentsAt(table: RoutingTable, host: string): Target[] {
  const open = surfacesAt(table, host).filter(({ access }) => access === undefined);
  const keys = open.flatMap(({ namespace, agents }) => agents.map((name) => `${namespace}/${name}`));
  const targets = [...new Set(keys)].sort().flatMap((key) => table.targets.get(key) ?? []);
  return targets.filter(({ access }) => access === undefined);
}
