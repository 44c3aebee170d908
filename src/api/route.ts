import { z } from 'zod';
import { authSchema } from './agent/auth.ts';
import type { apiVersion } from './group.ts';
import { conditionsSchema, type KubeObject } from './meta.ts';
import {
  agentReferenceSchema,
  backendSchema,
  limitsSchema,
  rateLimitSchema,
  selectorSchema,
  timeoutsSchema,
} from './route/policy.ts';
import {
  apiSurfaceSchema,
  blobsSurfaceSchema,
  chatSurfaceSchema,
  eventsSurfaceSchema,
  mcpSurfaceSchema,
  sessionsSurfaceSchema,
  staticSurfaceSchema,
} from './route/surfaces.ts';
import { hostPattern, listMap, listOf, pathPrefix, setOf } from './schema/fields.ts';
import { atLeastOne, exactlyOne, notYet, withRules } from './schema/rules.ts';

const surfaces = ['mcp', 'api', 'static', 'blobs', 'sessions', 'chat', 'events'] as const;

/** Which agents appear under which hosts and paths, with which of their surfaces. */
export const routeSpecSchema = withRules(
  z.strictObject({
    agents: listMap(agentReferenceSchema, 'name', 200).min(1).describe('Agents by name.').optional(),
    selector: selectorSchema
      .describe('Agents by label; an empty selector takes every Agent of the namespace.')
      .optional(),
    hosts: setOf(hostPattern, 32)
      .describe('Host names, exact or with a leading `*.`. Default: every host that the router answers for.')
      .default([]),
    paths: setOf(pathPrefix, 32).min(1).describe('Paths under which the surfaces appear.').default(['/']),
    mcp: mcpSurfaceSchema.describe('MCP.').optional(),
    api: apiSurfaceSchema.describe('The agents’ own HTTP APIs, each below its agent’s name.').optional(),
    static: staticSurfaceSchema.describe('The agents’ static files.').optional(),
    blobs: blobsSurfaceSchema.describe('Files in and out.').optional(),
    sessions: notYet(sessionsSurfaceSchema).describe('Terminals of the agents.').optional(),
    chat: notYet(chatSurfaceSchema).describe('Chat with the agents.').optional(),
    events: notYet(eventsSurfaceSchema).describe('Stream of what the agents do.').optional(),
    auth: authSchema
      .describe('Who may come in, and who may call what; what each Agent asks for holds as well.')
      .prefault({}),
    rateLimit: notYet(rateLimitSchema).describe('How many requests.').optional(),
    timeouts: notYet(timeoutsSchema)
      .describe('How long things may take. Default: what the router is configured with.')
      .optional(),
    limits: notYet(limitsSchema)
      .describe('How large things may be. Default: what the router is configured with.')
      .optional(),
    backends: backendSchema.describe('How an agent that does not answer counts.').optional(),
  }),
  [
    exactlyOne(['agents', 'selector']),
    atLeastOne(surfaces),
    {
      rule: "!has(self.mcp) || self.mcp.mode != 'Single' || (has(self.agents) && size(self.agents) == 1)",
      message: 'mcp.mode Single needs exactly one agent in agents',
      at: '.mcp',
      holds: (route) => route.mcp?.mode !== 'Single' || route.agents?.length === 1,
    },
    {
      rule: '!has(self.static) || !has(self.static.root) || !has(self.agents) || self.agents.exists(agent, agent.name == self.static.root)',
      message: 'static.root must be one of agents',
      at: '.static',
      holds: (route) =>
        route.static?.root === undefined ||
        route.agents === undefined ||
        route.agents.some((agent) => agent.name === route.static?.root),
    },
  ],
);

const conflictSchema = z.strictObject({
  kind: z.enum(['tools', 'prompts', 'resources', 'templates']).describe('In which list.'),
  name: z.string().max(256).describe('Name, URI or template; of two templates that begin alike, each.'),
  agents: z
    .array(z.string().max(63))
    .max(8)
    .meta({ 'x-kubernetes-list-type': 'atomic' })
    .describe('Agents that have it, in order; one alone: it has two under this name, by a rename.'),
});

export const routeStatusSchema = z.strictObject({
  observedGeneration: z
    .int()
    .min(0)
    .max(9_007_199_254_740_991)
    .describe('Generation of the spec that this status speaks of.')
    .optional(),
  conditions: conditionsSchema.describe('Accepted, ResolvedRefs, Programmed.').optional(),
  agents: z.int().min(0).max(1_000_000).describe('How many Agents it selects.').optional(),
  conflicts: listOf(conflictSchema, 20)
    .describe(
      'Names that several of its Agents have, the first 20, as far as the routers that run have seen lists of them. mcp.naming says what clients see instead.',
    )
    .optional(),
});

/** A spec as people write it. */
export type RouteSpecInput = z.input<typeof routeSpecSchema>;
/** A spec with its defaults filled in. */
export type RouteSpec = z.output<typeof routeSpecSchema>;
export type RouteStatus = z.output<typeof routeStatusSchema>;
/** A Route with its defaults filled in, as the API server returns it. */
export interface Route extends KubeObject {
  apiVersion: typeof apiVersion;
  kind: 'Route';
  spec: RouteSpec;
  status?: RouteStatus;
}
