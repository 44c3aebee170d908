import type { Agent } from '#api/agent.ts';
import { agentResource } from '#api/resources.ts';
import { headlineOf } from '../../agent-summary.ts';
import type { CheckResult, Cluster } from '../../context.ts';
import { toLine } from '../../wait-agents.ts';
import { isForbidden } from '../errors.ts';
import { ok, warn } from './result.ts';

const mostShown = 10;

/** Which agents are not Ready, and why: those of every namespace, else of the one that is meant. */
export async function checkAgents(cluster: Cluster): Promise<CheckResult> {
  const agents = await listAgents(cluster);
  const lines = agents.map((agent) => ({ ...toLine(agent), namespace: agent.metadata.namespace ?? '' }));
  const away = lines.filter(({ summary }) => summary.stage === 'Working' || summary.stage === 'Failed');
  const stopped = lines.filter(({ summary }) => summary.stage === 'Stopped').length;
  const ready = lines.length - away.length - stopped;
  const counts = `${ready} of ${lines.length} ready${stopped > 0 ? `, ${stopped} stopped` : ''}`;
  if (away.length === 0) return ok(lines.length === 0 ? 'none' : counts);
  const shown = away.slice(0, mostShown).map(({ namespace, name, summary }) => {
    return `${namespace}/${name} ${summary.reason}: ${headlineOf(summary.message)}`;
  });
  const more = away.length > mostShown ? [`and ${away.length - mostShown} more`] : [];
  return warn(
    [counts, ...shown, ...more].join('\n'),
    '`ploinky describe agent NAME` and `ploinky logs NAME` tell more.',
  );
}

async function listAgents({ client, namespace }: Cluster): Promise<Agent[]> {
  try {
    return (await client.list<Agent>(agentResource)).items;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return (await client.list<Agent>(agentResource, { namespace })).items;
  }
}
