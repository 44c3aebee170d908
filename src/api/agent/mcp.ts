import { z } from 'zod';
import { commandLine, listMap, port, relativePath, text } from '../schema/fields.ts';
import { exactlyOne, withRules } from '../schema/rules.ts';
import { remoteFields, remoteRules } from './mcp-remote.ts';
import { promptSchema, resourceSchema, toolSchema } from './mcp-tools.ts';

/** An MCP server that the agent-server speaks for. */
const upstreamSchema = withRules(
  z.strictObject({
    stdio: commandLine
      .describe('Program and arguments of an MCP server on stdin and stdout, started inside the agent.')
      .optional(),
    cwd: text(4096).describe('Working folder of a stdio server. Default: /code.').optional(),
    port: port
      .describe('Port on the agent’s loopback where its own HTTP MCP server listens ($PORT).')
      .optional(),
    path: text(1024)
      .regex(/^\/[^?#\s]*$/, 'must begin with "/" and have no query')
      .describe('Path of the HTTP MCP server on that port. Default: /mcp.')
      .optional(),
    ...remoteFields,
  }),
  [
    exactlyOne(['stdio', 'port', 'url']),
    {
      rule: '!has(self.path) || has(self.port)',
      message: 'path belongs to port; give port or remove path',
      at: '.path',
      holds: (upstream) => upstream.path === undefined || upstream.port !== undefined,
    },
    {
      rule: '!has(self.cwd) || has(self.stdio)',
      message: 'cwd belongs to stdio; give stdio or remove cwd',
      at: '.cwd',
      holds: (upstream) => upstream.cwd === undefined || upstream.stdio !== undefined,
    },
    ...remoteRules,
  ],
);

/** Where the agent's tools, resources and prompts come from. */
export const mcpSchema = withRules(
  z.strictObject({
    configFile: relativePath
      .describe(
        'Configuration file below /code, read again when it changes. Default when nothing else is given: mcp-config.json, if it exists.',
      )
      .optional(),
    tools: listMap(toolSchema, 'name', 256).describe('Command tools.').optional(),
    resources: listMap(resourceSchema, 'name', 256).describe('Command resources.').optional(),
    prompts: listMap(promptSchema, 'name', 256).describe('Prompts.').optional(),
    upstream: upstreamSchema
      .describe('An MCP server whose tools, resources and prompts become the agent’s.')
      .optional(),
    maxParallelTasks: z
      .int()
      .min(1)
      .max(1000)
      .describe(
        'How many executions run at once; the others wait in order. Default: what the configuration file says, else 10.',
      )
      .optional(),
    taskLogTailBytes: z
      .int()
      .min(0)
      .max(16_777_216)
      .describe(
        'How much of an async run’s log is kept. Default: what the configuration file says, else 131072.',
      )
      .optional(),
  }),
  [
    {
      rule: '!has(self.configFile) || !(has(self.tools) || has(self.resources) || has(self.prompts) || has(self.upstream))',
      message: 'configFile excludes tools, resources, prompts and upstream; keep one of the two ways',
      at: '.configFile',
      holds: (mcp) =>
        mcp.configFile === undefined ||
        (mcp.tools === undefined &&
          mcp.resources === undefined &&
          mcp.prompts === undefined &&
          mcp.upstream === undefined),
    },
    {
      rule: '!has(self.upstream) || !(has(self.tools) || has(self.resources) || has(self.prompts))',
      message: 'upstream excludes inline tools, resources and prompts; put them in an Agent of their own',
      at: '.upstream',
      holds: (mcp) =>
        mcp.upstream === undefined ||
        (mcp.tools === undefined && mcp.resources === undefined && mcp.prompts === undefined),
    },
  ],
);
