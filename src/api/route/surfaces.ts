import { z } from 'zod';
import { agentName, listOf, pathPrefix, text } from '../schema/fields.ts';
import { withRules } from '../schema/rules.ts';

const nameGlob = text(255).regex(/^[A-Za-z0-9_./*?-]+$/, 'must be a name or a glob with * and ?');
const uriGlob = text(1024).regex(/^[^\s]+$/, 'must be a URI, a template of one, or a glob with * and ?');
const oneStar = 'must have at most one "*"';

interface FilterWords {
  /** What is filtered, for sentences. */
  readonly one: string;
  readonly many: string;
  readonly name: string;
}

function filterSchema<G extends z.ZodType<string>, F extends z.ZodType<string>, T extends z.ZodType<string>>(
  { one, many, name }: FilterWords,
  fields: { readonly glob: G; readonly from: F; readonly to: T },
) {
  const others = name === 'URI' ? 'URIs' : 'names';
  const rename = withRules(
    z.strictObject({
      agent: agentName.describe(`Agent that has the ${one}. Default: any.`).optional(),
      from: fields.from.describe(`${name} of the ${one} at the agent; one "*" stands for any text.`),
      to: fields.to.describe(
        `${name} under which this Route shows it; its "*" is the text of the one in from.`,
      ),
    }),
    [
      {
        rule: "!self.to.matches('[*]') || self.from.matches('[*]')",
        message: 'to may have a "*" only where from has one',
        at: '.to',
        holds: (rule: unknown) => {
          const { from, to } = rule as { readonly from: string; readonly to: string };
          return !to.includes('*') || from.includes('*');
        },
      },
    ],
  );
  return z.strictObject({
    allow: listOf(fields.glob, 256)
      .describe(`${name}s or globs that appear, as the agent says them. Default: all.`)
      .optional(),
    deny: listOf(fields.glob, 256)
      .describe(`${name}s or globs that do not appear; stronger than allow.`)
      .optional(),
    rename: listOf(rename, 256)
      .describe(`Other ${others} for ${many}; the first that fits counts.`)
      .optional(),
  });
}

const names = {
  glob: nameGlob,
  from: text(128).regex(/^[^*]*[*]?[^*]*$/, oneStar),
  to: text(128).regex(
    /^[A-Za-z0-9_.-]*[*]?[A-Za-z0-9_.-]*$/,
    'must be letters, digits, "_", "-" and ".", and at most one "*"',
  ),
};
const uris = {
  glob: uriGlob,
  from: text(1024).regex(/^[^*\s]*[*]?[^*\s]*$/, oneStar),
  to: text(1024).regex(/^[A-Za-z][A-Za-z0-9+.-]*:[^*\s]*[*]?[^*\s]*$/, 'must be a URI with at most one "*"'),
};
const toolFilterSchema = filterSchema({ one: 'tool', many: 'tools', name: 'Name' }, names);
const promptFilterSchema = filterSchema({ one: 'prompt', many: 'prompts', name: 'Name' }, names);
const resourceFilterSchema = filterSchema({ one: 'resource', many: 'resources', name: 'URI' }, uris);

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
        'When the name of a tool or prompt, or the URI of a resource, gets its agent’s name in front: where two collide, always, or never (then the first agent by name wins). Collisions are in status.conflicts.',
      )
      .default('Conflict'),
    tools: toolFilterSchema.describe('Which tools appear, and their names.').optional(),
    resources: resourceFilterSchema
      .describe('Which resources and templates appear, and their URIs.')
      .optional(),
    prompts: promptFilterSchema.describe('Which prompts appear, and their names.').optional(),
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
