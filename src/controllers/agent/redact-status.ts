import type { AgentStatus } from '#api/agent.ts';
import { knownSecrets } from '#api/known-secrets.ts';
import { createRedactor } from '#kit/redact.ts';
import { deriveAgentKey } from '#wire/keys.ts';
import { identityOf } from './desired.ts';
import type { AgentFacts } from './facts.ts';

/**
 * Conditions, and the Events that are made of them, copy what programs wrote before they ended and what agent-servers
 * say of their upstreams: whoever may read Agents reads it. Known secret values are taken out of what is new.
 */
export function redactStatus(status: AgentStatus, facts: AgentFacts): AgentStatus {
  const before = new Set(facts.agent.status?.conditions?.map(({ message }) => message));
  const isCopied =
    facts.observed?.phase === 'Failed' || facts.observed?.fault !== undefined || facts.reports.length > 0;
  if (
    !isCopied ||
    status.conditions === undefined ||
    status.conditions.every(({ message }) => before.has(message))
  )
    return status;
  const redactor = createRedactor(secretsOf(facts));
  const conditions = status.conditions.map((condition) => ({
    ...condition,
    message: redactor.text(condition.message),
  }));
  return { ...status, conditions };
}

function secretsOf({ agent, environment, upstream, masterKeys }: AgentFacts): string[] {
  const keys = masterKeys.map((master) => deriveAgentKey(master, identityOf(agent)));
  const named = keys.map(({ kid, secret }) => ({ kid, secret: secret.toString('base64url') }));
  return [
    ...knownSecrets({
      env: environment.values,
      secretEnv: [...environment.secrets],
      keys: named,
      upstream,
      forwards: [],
    }),
    ...keys.map(({ secret }) => secret.toString('hex')),
  ];
}
