import { z } from 'zod';
import {
  envKey,
  mapOf,
  objectName,
  relativePath,
  seconds,
  setOf,
  shortText,
  text,
} from '../schema/fields.ts';
import { exactlyOne, withRules } from '../schema/rules.ts';

const rateLimitSchema = z.strictObject({
  messagesPerMinute: z.int().min(0).max(100_000).describe('Messages it may add.').default(60),
  eventsPerMinute: z.int().min(0).max(100_000).describe('Events it may emit.').default(600),
});

const permissionsSchema = z.strictObject({
  canAddMessages: z.boolean().describe('May add messages to the conversation.').default(false),
  canEmitEvents: z.boolean().describe('May emit events `plugin.<name>.*`.').default(false),
  canAccessContext: z.boolean().describe('May read the conversation, redacted.').default(false),
  canTriggerAgentActions: z.boolean().describe('May ask for work, under the approval policy.').default(false),
  sensitiveEvents: setOf(text(63), 32).describe('Sensitive events it may see.').default([]),
  rateLimit: rateLimitSchema.describe('How much of it.').prefault({}),
});

const sourceSchema = withRules(
  z.strictObject({
    configMap: z
      .strictObject({ name: objectName.describe('Name of the ConfigMap.') })
      .describe('A ConfigMap whose keys are its files.')
      .optional(),
    path: relativePath.describe('Folder below /code.').optional(),
    image: shortText.describe('Image that holds it.').optional(),
  }),
  [exactlyOne(['configMap', 'path', 'image'])],
);

/** A program beside the agent that sees its events, adds tools and may speak back. */
export const pluginSchema = z.strictObject({
  name: text(63)
    .regex(
      /^[a-z0-9_][a-z0-9_-]*$/,
      'must be lower-case letters, digits, "_" and "-", and not begin with "-"',
    )
    .describe('Name of the plugin.'),
  source: sourceSchema.describe('Where its plugin.json and files are.'),
  activation: z
    .enum(['Always', 'Tagged'])
    .describe('Tagged: its tools appear after `+name` was said.')
    .default('Always'),
  permissions: permissionsSchema.describe('What it may do; nothing by default.').prefault({}),
  config: mapOf(envKey, z.string().max(4096), 64).describe('Settings that are no secrets.').optional(),
  secretRef: z
    .strictObject({ name: objectName.describe('Name of the Secret.') })
    .describe('Settings that are secrets.')
    .optional(),
  events: setOf(text(63), 64).describe('Events it gets. Default: what its plugin.json says.').optional(),
  queueLength: z
    .int()
    .min(1)
    .max(100_000)
    .describe('Events that wait for a slow plugin before the oldest are dropped.')
    .default(1000),
  startupTimeoutSeconds: seconds.min(1).describe('Limit of its start.').default(30),
});
