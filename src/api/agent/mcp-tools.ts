import { z } from 'zod';
import {
  commandLine,
  envKey,
  freeObject,
  listOf,
  longText,
  mapOf,
  milliseconds,
  scalarText,
  shortText,
  text,
} from '../schema/fields.ts';
import { atMostOne, exactlyOne, withRules } from '../schema/rules.ts';

/** A shell line, or program and arguments. The API server checks only its bounds; its shape is checked by the controller. */
const command = z.union([text(4096), commandLine]);

const execution = {
  args: listOf(scalarText, 256).describe('Arguments after the command.').optional(),
  cwd: text(4096).describe('Working folder. Default, and for "workspace": /code.').optional(),
  env: mapOf(envKey, z.string().max(32_768), 256)
    .describe('Variables of this command only, over those of the agent.')
    .optional(),
  timeoutMs: milliseconds
    .describe('The command’s whole process group is killed after this many milliseconds.')
    .optional(),
};

const naming = {
  title: shortText.describe('Name for people.').optional(),
  description: longText.describe('What it does, for models and people.').optional(),
};

const schemaObject = freeObject(256, 65_536);

/** One command tool: a fresh process a call, JSON on its stdin, its stdout is the result. */
export const toolSchema = withRules(
  z.strictObject({
    name: text(128)
      .regex(/^[A-Za-z0-9_./-]+$/, 'must be letters, digits, "_", "-", "." and "/"')
      .describe('Name of the tool.'),
    ...naming,
    command: command.describe(
      'Text: an executable when it has no spaces (relative to /code), else a shell line. A list: program and arguments, no shell.',
    ),
    ...execution,
    runner: z
      .enum(['command', 'plugins'])
      .describe(
        'plugins: command is `Plugin.method` of a module in the folder PLUGINS_FOLDER of env (default: /code/plugins), and args name the input fields that it gets, in order.',
      )
      .optional(),
    async: z.boolean().describe('Answers at once with a taskId; the result is fetched later.').optional(),
    timeout: milliseconds.describe('Limit of an async run in milliseconds, from its start.').optional(),
    syncWindowMs: milliseconds
      .describe(
        'Milliseconds that a call is waited for. One that takes longer goes on as a durable task, whose id is the answer.',
      )
      .optional(),
    maxParallel: z
      .int()
      .min(1)
      .max(10_000)
      .describe('Tasks of this tool that run at once. Default: as many as maxParallelTasks.')
      .optional(),
    retries: z
      .int()
      .min(0)
      .max(100)
      .describe(
        'How often a task whose run was lost with its agent-server is run again. Default 0: it fails, because nobody knows how far it came.',
      )
      .optional(),
    execution: z
      .strictObject({
        taskSupport: z
          .enum(['forbidden', 'optional', 'required'])
          .describe(
            'Whether calls are MCP tasks for clients that take tasks. required: only for those. Default: optional with async or syncWindowMs, else forbidden.',
          )
          .optional(),
      })
      .describe('As MCP describes how a tool is run.')
      .optional(),
    inputSchema: schemaObject
      .describe('Arguments: Ploinky’s field map (`{field: "string"}`) or JSON Schema. Default: no arguments.')
      .optional(),
    input: schemaObject.describe('Arguments as JSON Schema; another name of inputSchema.').optional(),
    outputSchema: schemaObject.describe('JSON Schema of the structured result.').optional(),
    annotations: schemaObject.describe('MCP tool annotations, passed on as they are.').optional(),
    prewarm: z
      .int()
      .min(0)
      .max(32)
      .describe('How many processes wait started and blocked on stdin; each serves one call and ends.')
      .default(0),
  }),
  [atMostOne(['inputSchema', 'input'])],
);

/** One resource: a command whose stdout is the content. */
export const resourceSchema = withRules(
  z.strictObject({
    name: text(128).describe('Name of the resource.'),
    uri: text(2048).describe('Address of a static resource.').optional(),
    template: text(2048).describe('Address pattern with `{name}` parts (RFC 6570).').optional(),
    ...naming,
    mimeType: text(255).describe('Type of the content.').default('text/plain'),
    command: command.describe('As for a tool. Reads `{resource, uri, params}` on stdin.'),
    ...execution,
  }),
  [exactlyOne(['uri', 'template'])],
);

const messageSchema = z.strictObject({
  role: z.enum(['system', 'user', 'assistant']).describe('Who speaks.'),
  content: z.string().max(65_536).describe('Text; `${name}` stands for an argument.'),
});

const argumentSchema = z.strictObject({
  name: text(128).describe('Name of the argument.'),
  description: longText.describe('What it is.').optional(),
  required: z.boolean().describe('Whether it must be given.').optional(),
});

/** One prompt. */
export const promptSchema = z.strictObject({
  name: text(128).describe('Name of the prompt.'),
  ...naming,
  arguments: listOf(argumentSchema, 32)
    .describe('Arguments. Default: one per `${name}` found in the messages.')
    .optional(),
  messages: listOf(messageSchema, 64).min(1).describe('The messages, in order.'),
});
