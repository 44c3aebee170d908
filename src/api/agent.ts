import { z } from 'zod';
import { authSchema } from './agent/auth.ts';
import { codeSchema } from './agent/code.ts';
import { envVarSchema } from './agent/env.ts';
import {
  approvalSchema,
  budgetSchema,
  capabilities,
  heartbeatSchema,
  hostOpsSchema,
  skillsSchema,
} from './agent/governance.ts';
import { healthSchema } from './agent/health.ts';
import { lifecycleSchema } from './agent/lifecycle.ts';
import { mcpSchema } from './agent/mcp.ts';
import { networkSchema } from './agent/network.ts';
import { pluginSchema } from './agent/plugins.ts';
import { podTemplateSchema } from './agent/pod-template.ts';
import { runtimeSchema } from './agent/runtime.ts';
import { contextSchema, sessionsSchema, worktreeSchema } from './agent/sessions.ts';
import { storageSchema } from './agent/storage.ts';
import { agentTasksSchema } from './agent/tasks.ts';
import type { apiVersion } from './group.ts';
import { conditionsSchema, dnsLabel, type KubeObject } from './meta.ts';
import { agentName, commandLine, listMap } from './schema/fields.ts';
import { notYet, withRules } from './schema/rules.ts';

const dependencySchema = z.strictObject({
  name: agentName.describe('Name of the Agent in the same namespace.'),
  wait: z
    .enum(['Ready', 'None'])
    .describe('Ready: this agent starts after that one is Ready. None: that one only has to exist.')
    .default('Ready'),
});

const agentFields = z.strictObject({
  role: dnsLabel.describe('Tasks of this role go to any Agent that has it. Default: its name.').optional(),
  capabilities: capabilities
    .describe('What it can do; matched with a Task’s requiredCapabilities.')
    .optional(),
  runtime: runtimeSchema.describe('What it runs on, and how many of it.').prefault({}),
  code: codeSchema.describe('Where the files under /code come from. Default: none.').optional(),
  command: commandLine
    .describe(
      'The agent’s own main process, beside the agent-server. Default: none. It must end on SIGTERM: in a pod it is the first process of its container, which has no default for signals; one that does not is killed when terminationGracePeriodSeconds are over.',
    )
    .optional(),
  lifecycle: lifecycleSchema.describe('Commands around its start.').optional(),
  env: listMap(envVarSchema, 'name', 256).describe('Environment of everything that runs in it.').optional(),
  mcp: mcpSchema
    .describe('Its tools, resources and prompts. Default: what /code/mcp-config.json says.')
    .optional(),
  tasks: agentTasksSchema
    .describe('Its queue of tasks. Default: nothing of it appears as a Task.')
    .optional(),
  storage: storageSchema.describe('Its workspace.').prefault({}),
  network: networkSchema.describe('What it can reach; nothing by default.').prefault({}),
  auth: authSchema.describe('Who may reach it.').prefault({}),
  dependsOn: listMap(dependencySchema, 'name', 64).describe('Agents that it needs.').optional(),
  health: notYet(healthSchema).describe('Probes of its own program.').optional(),
  sessions: notYet(sessionsSchema).describe('Interactive sessions with a terminal.').optional(),
  worktree: notYet(worktreeSchema).describe('A git worktree for each task or session.').optional(),
  context: notYet(contextSchema).describe('What a run is told about its task.').optional(),
  plugins: notYet(listMap(pluginSchema, 'name', 32))
    .describe('Plugins beside the agent.')
    .optional(),
  budget: notYet(budgetSchema).describe('Tokens it may use in a day.').optional(),
  approval: notYet(approvalSchema).describe('What needs a person’s consent first.').optional(),
  heartbeat: notYet(heartbeatSchema).describe('Work it is given at an interval.').optional(),
  skills: notYet(skillsSchema).describe('Catalogue of what it knows how to do.').optional(),
  hostOps: notYet(hostOpsSchema)
    .describe('Privileged operations of the host that it may ask for.')
    .optional(),
  podTemplate: podTemplateSchema.describe('Overlay of its pod, an allow-list of fields.').optional(),
});

const eachCaller =
  "!has(self.mcp) || !has(self.mcp.upstream) || !has(self.mcp.upstream.oauth) || self.mcp.upstream.oauth.mode != 'perUser'";

export const agentSpecSchema = withRules(agentFields, [
  {
    rule: `${eachCaller} || self.auth.mode != 'none'`,
    message: 'mcp.upstream.oauth.mode perUser needs to know who calls; set auth.mode to pwd, sso or guest',
    at: '.auth',
    holds: ({ mcp, auth }) => mcp?.upstream?.oauth?.mode !== 'perUser' || auth.mode !== 'none',
  },
  {
    rule: `${eachCaller} || self.runtime.replicas <= 1`,
    message: 'mcp.upstream.oauth.mode perUser keeps logins where it runs; set runtime.replicas to 1',
    at: '.runtime',
    holds: ({ mcp, runtime }) => mcp?.upstream?.oauth?.mode !== 'perUser' || runtime.replicas <= 1,
  },
]);

const endpointSchema = z.strictObject({
  name: z.string().max(253).describe('Name of the workload.'),
  uid: z.string().max(128).describe('Which workload this is; tokens name it.'),
  address: z.string().max(512).describe('`unix:/path` or `host:port` of its agent-server.'),
  ready: z.boolean().describe('Whether calls may be sent to it.'),
  terminating: z.boolean().describe('Whether it is ending.'),
});

export const agentStatusSchema = z.strictObject({
  observedGeneration: z
    .int()
    .min(0)
    .max(9_007_199_254_740_991)
    .describe('Generation of the spec that this status speaks of.')
    .optional(),
  conditions: conditionsSchema.describe('Accepted, Ready, Progressing, Degraded, Halted.').optional(),
  runtime: z.string().max(63).describe('Substrate that was chosen.').optional(),
  replicas: z.int().min(0).max(1000).describe('Workloads that exist.').optional(),
  selector: z
    .string()
    .max(1024)
    .describe('Label selector of its workloads, for the scale subresource.')
    .optional(),
  restarts: z
    .int()
    .min(0)
    .max(2_147_483_647)
    .describe('How often it was started again since it was last Ready for a minute.')
    .optional(),
  endpoints: z
    .array(endpointSchema)
    .max(100)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['uid'] })
    .describe('Its workloads and where they answer.')
    .optional(),
  toolCount: z.int().min(0).max(1_000_000).describe('Tools it offers.').optional(),
  toolsDigest: z
    .string()
    .max(64)
    .describe('Digest of its lists of tools, resources and prompts; another one when any of them changes.')
    .optional(),
  agentServerVersion: z.string().max(64).describe('Version of its agent-server.').optional(),
  codeRevision: z.string().max(64).describe('Commit that spec.code.git was fetched at.').optional(),
});

/** A spec with its defaults filled in, as the API server returns it. */
export type AgentSpec = z.output<typeof agentSpecSchema>;
export type AgentStatus = z.output<typeof agentStatusSchema>;
/** An Agent with its defaults filled in, as the API server returns it. */
export interface Agent extends KubeObject {
  apiVersion: typeof apiVersion;
  kind: 'Agent';
  spec: AgentSpec;
  status?: AgentStatus;
}
