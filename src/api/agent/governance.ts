import { z } from 'zod';
import {
  freeObject,
  longText,
  objectName,
  relativePath,
  seconds,
  setOf,
  text,
  tokens,
} from '../schema/fields.ts';
import { atMostOne, exactlyOne, withRules } from '../schema/rules.ts';

export const timeZone = text(64).regex(
  /^[A-Za-z0-9_+/-]+$/,
  'must be a time zone name like UTC or Europe/Bucharest',
);

/** Work that the agent is given at an interval. */
export const heartbeatSchema = withRules(
  z.strictObject({
    enabled: z.boolean().describe('Whether heartbeats are made.').default(true),
    intervalSeconds: seconds.min(30).describe('Time between two.').default(86_400),
    prompt: longText.describe('Text of the Task.').optional(),
    taskTemplate: freeObject(64, 65_536).describe('spec of the Task.').optional(),
    startingDeadlineSeconds: seconds
      .describe('A missed one is skipped when it is later than this.')
      .default(300),
  }),
  [atMostOne(['prompt', 'taskTemplate'])],
);

/** Tokens the agent may use in a day. */
export const budgetSchema = z.strictObject({
  dailyTokens: tokens.describe('Limit of one day.'),
  softPercent: z.int().min(1).max(100).describe('Share at which one warning is given.').default(80),
  onExceed: z
    .enum(['Reject', 'Hold', 'Warn'])
    .describe('What happens to work beyond the limit.')
    .default('Hold'),
  timeZone: timeZone.describe('Where a day begins.').default('UTC'),
});

/** What needs a person’s consent first. */
export const approvalSchema = z.strictObject({
  tools: setOf(text(255), 256).describe('Tool names or globs.').default([]),
  hostOps: setOf(text(255), 256).describe('Host operations or globs.').default([]),
  estimatedTokensAbove: tokens.describe('Tasks that expect to use more.').optional(),
  ttlSeconds: seconds.describe('An undecided request expires.').default(86_400),
});

/** Catalogue of what the agent knows how to do. */
export const skillsSchema = withRules(
  z.strictObject({
    configMapRef: z
      .strictObject({
        name: objectName.describe('Name of the ConfigMap.'),
        key: text(253).describe('Key of the catalogue.').default('library.yaml'),
      })
      .describe('Catalogue in a ConfigMap.')
      .optional(),
    path: relativePath.describe('Catalogue below /code.').optional(),
    inject: z
      .enum(['Compact', 'None'])
      .describe('Whether the compact index goes into a run’s context.')
      .default('Compact'),
  }),
  [exactlyOne(['configMapRef', 'path'])],
);

/** Privileged operations of the host that the agent may ask for. */
export const hostOpsSchema = z.strictObject({
  allow: setOf(text(63).regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/, 'must be the name of an operation'), 256)
    .describe('Names of operations.')
    .default([]),
  timeoutSeconds: seconds.min(1).describe('Limit of one operation.').default(60),
});

export const capabilities = setOf(
  text(63).regex(
    /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/,
    'must be a word of letters, digits, ".", "_" and "-"',
  ),
  64,
);
