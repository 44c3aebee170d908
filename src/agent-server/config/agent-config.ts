import * as z from 'zod/mini';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import { AgentServerError } from '../errors.ts';
import { describeIssues } from './issues.ts';

/** `agentServerConfigSchema` of src/api in zod/mini, which starts in a fifth of the time. */
const schema: z.ZodMiniType<AgentServerConfig> = z.object({
  version: z.literal(1),
  agent: z.object({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    instance: z.string(),
    principal: z.string(),
  }),
  keys: z.array(z.object({ kid: z.string(), secret: z.string() })).check(z.minLength(1), z.maxLength(2)),
  mcp: z.optional(z.record(z.string(), z.unknown())),
  env: z.record(z.string(), z.string()),
  paths: z.object({ code: z.string(), workspace: z.string() }),
  forwards: z._default(
    z.array(
      z.object({
        listen: z.int(),
        target: z.string(),
        proxyAuthorization: z.optional(z.string()),
      }),
    ),
    [],
  ),
  command: z.optional(z.array(z.string())),
  limits: z._default(z.record(z.string(), z.number()), {}),
}) as z.ZodMiniType<AgentServerConfig>;

/** Reads the document that the agent-server is started with. Throws InvalidConfig naming the fields. */
export function parseAgentConfig(text: string): AgentServerConfig {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw new AgentServerError('InvalidConfig', 'The agent-server configuration is not JSON');
  }
  const parsed = schema.safeParse(document);
  if (parsed.success) return parsed.data;
  throw new AgentServerError(
    'InvalidConfig',
    `The agent-server configuration is wrong: ${describeIssues(parsed.error.issues)}`,
  );
}
