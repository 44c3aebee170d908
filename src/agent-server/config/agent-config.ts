import { type AgentServerConfig, agentServerConfigSchema } from '#api/agent-server-config.ts';
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
