import { z } from 'zod';
import {
  commandLine,
  configMapKeyRef,
  listMap,
  listOf,
  port,
  relativePath,
  secretKeyRef,
  text,
} from '../schema/fields.ts';
import { exactlyOne, notYet, withRules } from '../schema/rules.ts';
import { promptSchema, resourceSchema, toolSchema } from './mcp-tools.ts';

const headerFrom = withRules(
  z.strictObject({
    name: text(128)
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be an HTTP header name')
      .describe('Header name.'),
    value: z.string().max(4096).describe('Its value in clear.').optional(),
    secretKeyRef: secretKeyRef.describe('A key of a Secret.').optional(),
    configMapKeyRef: configMapKeyRef.describe('A key of a ConfigMap.').optional(),
  }),
  [exactlyOne(['value', 'secretKeyRef', 'configMapKeyRef'])],
);

const oauthSchema = withRules(
  z.strictObject({
    mode: z
      .enum(['clientCredentials', 'perUser'])
      .describe('clientCredentials: one identity for all callers. perUser: each caller logs in.'),
    issuer: text(2048)
      .describe('Authorization server. Default: what the upstream’s metadata says.')
      .optional(),
    clientId: text(1024).describe('Client id. Default: registered dynamically.').optional(),
    clientSecretRef: secretKeyRef.describe('Client secret.').optional(),
    scopes: listOf(text(255), 64).describe('Scopes asked for.').optional(),
  }),
  [
    {
      rule: "self.mode != 'clientCredentials' || (has(self.clientId) && has(self.clientSecretRef))",
      message: 'clientCredentials needs clientId and clientSecretRef',
      holds: (oauth) =>
        oauth.mode !== 'clientCredentials' ||
        (oauth.clientId !== undefined && oauth.clientSecretRef !== undefined),
    },
  ],
);

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
    url: notYet(text(2048).regex(/^https?:\/\/[^\s]+$/, 'must be an http or https URL'))
      .describe('Address of a remote MCP server.')
      .optional(),
    headersFrom: notYet(listMap(headerFrom, 'name', 32))
      .describe('Headers sent to url.')
      .optional(),
    oauth: notYet(oauthSchema).describe('How to log in at url.').optional(),
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
    {
      rule: '(!has(self.headersFrom) && !has(self.oauth)) || has(self.url)',
      message: 'headersFrom and oauth belong to url; give url or remove them',
      holds: (upstream) =>
        (upstream.headersFrom === undefined && upstream.oauth === undefined) || upstream.url !== undefined,
    },
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
