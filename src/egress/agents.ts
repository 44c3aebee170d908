import type { Agent } from '#api/agent.ts';
import { installEgress, runEgress } from '#api/egress.ts';
import { egressToken, type MasterKey } from '#wire/keys.ts';
import type { CallerCredential, CallerLookup } from './callers.ts';

/** What the proxy reads: the caches that follow the API. */
export interface AgentSource {
  readonly agent: (namespace: string, name: string) => Agent | undefined;
  readonly masterKeys: () => readonly MasterKey[];
}

/** Rules and tokens straight from the Agents: a change of `spec.network` holds for the next connection. */
export function lookupInAgents(source: AgentSource): CallerLookup {
  return (namespace, name) => {
    const agent = source.agent(namespace, name);
    if (agent === undefined) return [];
    return source.masterKeys().flatMap((key) => credentialsOf(agent, namespace, key));
  };
}

function credentialsOf(agent: Agent, namespace: string, key: MasterKey): CallerCredential[] {
  const { name, uid = '' } = agent.metadata;
  const identity = { namespace, name, uid };
  const credential = (purpose: 'run' | 'install', rules: CallerCredential['rules']) => ({
    namespace,
    name,
    purpose,
    rules,
    token: egressToken(key, identity, purpose),
  });
  return [credential('run', runEgress(agent.spec)), credential('install', installEgress(agent.spec))];
}
