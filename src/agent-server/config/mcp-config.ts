import * as z from 'zod/mini';
import { isObject } from '#kit/json.ts';
import { AgentServerError } from '../errors.ts';
import { describeIssues } from './issues.ts';

const command = z.union([z.string(), z.array(z.string()).check(z.minLength(1))]);
const milliseconds = z.number().check(z.positive());
const scalar = z.union([z.string(), z.number(), z.boolean()]);

const execution = {
  command: z.optional(command),
  args: z.optional(z.array(scalar)),
  cwd: z.optional(z.string()),
  env: z.optional(z.record(z.string(), scalar)),
  timeoutMs: z.optional(milliseconds),
};
const naming = {
  name: z.string().check(z.minLength(1)),
  title: z.optional(z.string()),
  description: z.optional(z.string()),
};

const toolSchema = z.object({
  ...naming,
  ...execution,
  runner: z.optional(z.enum(['command', 'plugins'])),
  async: z.optional(z.boolean()),
  timeout: z.optional(milliseconds),
  syncWindowMs: z.optional(milliseconds),
  maxParallel: z.optional(z.int().check(z.gte(1))),
  retries: z.optional(z.int().check(z.gte(0), z.lte(100))),
  execution: z.optional(z.object({ taskSupport: z.optional(z.enum(['forbidden', 'optional', 'required'])) })),
  inputSchema: z.optional(z.unknown()),
  input: z.optional(z.unknown()),
  outputSchema: z.optional(z.record(z.string(), z.unknown())),
  annotations: z.optional(z.record(z.string(), z.unknown())),
  prewarm: z.optional(z.int().check(z.gte(0), z.lte(32))),
});
const resourceSchema = z.object({
  ...naming,
  ...execution,
  uri: z.optional(z.string()),
  template: z.optional(z.string()),
  mimeType: z.optional(z.string()),
});
const promptSchema = z.object({
  ...naming,
  arguments: z.optional(
    z.array(
      z.object({
        name: z.string(),
        description: z.optional(z.string()),
        required: z.optional(z.boolean()),
      }),
    ),
  ),
  messages: z._default(z.array(z.object({ role: z.string(), content: z.unknown() })), []),
});
const topSchema = z.object({
  maxParallelTasks: z.optional(z.int().check(z.gte(1))),
  taskLogTailBytes: z.optional(z.int().check(z.gte(0))),
  tools: z.optional(z.array(z.unknown())),
  resources: z.optional(z.array(z.unknown())),
  prompts: z.optional(z.array(z.unknown())),
});

export type CommandLine = z.infer<typeof command>;
export type ToolDefinition = z.infer<typeof toolSchema> & { readonly command: CommandLine };
export type ResourceDefinition = z.infer<typeof resourceSchema> & { readonly command: CommandLine };
export type PromptDefinition = z.infer<typeof promptSchema>;

export interface McpDefinition {
  readonly tools: readonly ToolDefinition[];
  readonly resources: readonly ResourceDefinition[];
  readonly prompts: readonly PromptDefinition[];
  readonly maxParallelTasks: number | undefined;
  readonly taskLogTailBytes: number | undefined;
  /** What was left out and why, one sentence each. */
  readonly problems: readonly string[];
}

/**
 * Reads Ploinky's configuration of tools, resources and prompts. A wrong entry is left out and named in
 * `problems`, so that one mistake does not take the others away; one without `command` is left out quietly,
 * as Ploinky does. Throws InvalidToolFile when the document as a whole cannot be read.
 */
export function readMcpDefinition(document: unknown): McpDefinition {
  const top = topSchema.safeParse(document);
  if (!top.success) {
    throw new AgentServerError('InvalidToolFile', describeIssues(top.error.issues));
  }
  const problems: string[] = [];
  const tools = readEntries('tools', top.data.tools, toolSchema, problems).filter(hasCommand);
  const resources = readEntries('resources', top.data.resources, resourceSchema, problems).filter(hasCommand);
  return {
    tools: dropRepeated('tools', tools, (tool) => tool.name, problems),
    resources: dropRepeated(
      'resources',
      resources.filter((resource) => hasAddress(resource, problems)),
      (resource) => resource.uri ?? resource.template ?? '',
      problems,
    ),
    prompts: dropRepeated(
      'prompts',
      readEntries('prompts', top.data.prompts, promptSchema, problems),
      (prompt) => prompt.name,
      problems,
    ),
    maxParallelTasks: top.data.maxParallelTasks,
    taskLogTailBytes: top.data.taskLogTailBytes,
    problems,
  };
}

function readEntries<T>(
  list: string,
  entries: readonly unknown[] | undefined,
  schema: z.ZodMiniType<T>,
  problems: string[],
): T[] {
  return (entries ?? []).flatMap((entry, index) => {
    const parsed = schema.safeParse(entry);
    if (parsed.success) return [parsed.data];
    const name = isObject(entry) && typeof entry['name'] === 'string' ? ` (${entry['name']})` : '';
    problems.push(describeIssues(parsed.error.issues, `${list}[${index}]${name}`));
    return [];
  });
}

function hasCommand<T extends { command?: CommandLine | undefined }>(
  entry: T,
): entry is T & { command: CommandLine } {
  return entry.command !== undefined && entry.command !== '';
}

function hasAddress(resource: ResourceDefinition, problems: string[]): boolean {
  if (resource.uri !== undefined || resource.template !== undefined) return true;
  problems.push(`resource ${resource.name}: needs uri or template`);
  return false;
}

function dropRepeated<T>(
  list: string,
  entries: readonly T[],
  key: (entry: T) => string,
  problems: string[],
): T[] {
  const seen = new Set<string>();
  return entries.filter((entry) => {
    const name = key(entry);
    if (!seen.has(name)) return seen.add(name);
    problems.push(`${list}: ${name} appears twice; the first one counts`);
    return false;
  });
}
