import { type AgentServerConfig, agentServerConfigSchema } from '#api/agent-server-config.ts';
import type { WireKey } from '#wire/keys.ts';
import { AgentServerError } from '../errors.ts';
import { describeIssues } from './issues.ts';

/** Reads the document that the agent-server is started with. Throws InvalidConfig naming the fields. */
export function parseAgentConfig(text: string): AgentServerConfig {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw new AgentServerError('InvalidConfig', 'The agent-server configuration is not JSON');
  }
  const parsed = agentServerConfigSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  throw new AgentServerError(
    'InvalidConfig',
    `The agent-server configuration is wrong: ${describeIssues(parsed.error.issues)}`,
  );
}

/**
 * The same configuration for the workload `instance`, which wins over what it says: `UID` or, of several replicas,
 * `UID/SLOT`. Throws InvalidConfig when neither names one.
 */
export function forInstance(config: AgentServerConfig, instance: string | undefined): AgentServerConfig {
  const [name = '', number = ''] = (instance ?? config.agent.instance).split('/');
  const slot = /^\d{1,4}$/.test(number) ? { slot: Number(number) } : {};
  if (name !== '') return { ...config, agent: { ...config.agent, instance: name, ...slot } };
  throw new AgentServerError('InvalidConfig', 'agent.instance is empty', {
    remedy: 'Name the workload with --instance UID.',
  });
}

/** The keys as they are used, the current one first. Throws InvalidConfig. */
export function readKeys({ keys }: AgentServerConfig): WireKey[] {
  return keys.map(({ kid, secret }) => {
    const bytes = Buffer.from(secret, 'base64url');
    if (bytes.length < 32) throw new AgentServerError('InvalidConfig', `keys: ${kid} has less than 32 bytes`);
    return { kid, secret: bytes };
  });
}
