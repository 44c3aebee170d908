import { z } from 'zod';
import { agentName, listOf, pathPrefix, text } from '../schema/fields.ts';
import { notYet, withRules } from '../schema/rules.ts';

const toolPattern = text(255).regex(/^[A-Za-z0-9_./*?-]+$/, 'must be a tool name or a glob with * and ?');

const renameSchema = z.strictObject({
  agent: agentName.describe('Agent that has the tool. Default: any.').optional(),
  from: text(128).describe('Name of the tool at the agent.'),
  to: text(128)
    .regex(/^[A-Za-z0-9_.-]+$/, 'must be letters, digits, "_", "-" and "."')
    .describe('Name under which this Route shows it.'),
});

const filterSchema = z.strictObject({
  allow: listOf(toolPattern, 256)
    .describe('Names or globs that appear, as the agent says them. Default: all.')
    .optional(),
  deny: listOf(toolPattern, 256)
    .describe('Names or globs that do not appear; stronger than allow.')
    .optional(),
  rename: listOf(renameSchema, 256).describe('Other names for tools.').optional(),
});

/** Path of a surface below each of the Route's paths; `/` is the path itself. */
function below(standard: string) {
  return pathPrefix
    .describe(`Where it appears below each of the Route’s paths; "/" is the path itself.`)
    .default(standard);
}

const optimizeSchema = z.strictObject({
  mode: z
    .enum(['None', 'Search'])
    .describe('Search: clients see find_tool and call_tool instead of every tool.')
    .default('None'),
  above: z.int().min(0).max(100_000).describe('Only when there are more tools than this.').default(0),
});

export const mcpSurfaceSchema = withRules(
  z.strictObject({
    path: below('/mcp'),
    mode: z
      .enum(['Aggregate', 'Single'])
      .describe(
        'Aggregate: the tools of all agents behind one endpoint. Single: exactly one agent, its names as they are.',
      )
      .default('Aggregate'),
    naming: z
      .enum(['Conflict', 'Always', 'Never'])
      .describe(
        'When a tool’s name gets its agent’s name in front: where two collide, always, or never (then the first agent by name wins and the clash is reported).',
      )
      .default('Conflict'),
    tools: filterSchema.describe('Which tools appear, and their names.').optional(),
    resources: notYet(filterSchema).describe('Which resources appear.').optional(),
    prompts: notYet(filterSchema).describe('Which prompts appear.').optional(),
    optimize: optimizeSchema.describe('How long lists of tools are shortened for models.').optional(),
  }),
  [
    {
      rule: "self.mode != 'Single' || self.naming != 'Always'",
      message: 'a Single surface shows names as they are; use Conflict or Never, or mode Aggregate',
      at: '.naming',
      holds: (mcp) => mcp.mode !== 'Single' || mcp.naming !== 'Always',
    },
  ],
);

export const apiSurfaceSchema = z.strictObject({ path: below('/apis') });

export const staticSurfaceSchema = z.strictObject({
  path: below('/'),
  root: agentName
    .describe(
      'Agent whose files appear at the path itself. Default: none; each agent’s files appear below its name.',
    )
    .optional(),
});

export const blobsSurfaceSchema = z.strictObject({ path: below('/blobs') });

export const sessionsSurfaceSchema = z.strictObject({
  path: below('/sessions'),
  access: z.enum(['Attach', 'ReadOnly']).describe('Whether viewers may type.').default('ReadOnly'),
});

export const chatSurfaceSchema = z.strictObject({ path: below('/chat') });

export const eventsSurfaceSchema = z.strictObject({ path: below('/events') });
