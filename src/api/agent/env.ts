import { z } from 'zod';
import { configMapKeyRef, envName, secretKeyRef, text } from '../schema/fields.ts';
import { atMostOne, exactlyOne, withRules } from '../schema/rules.ts';

const derivedSecret = z.strictObject({
  name: text(128)
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
      'must be letters, digits, ".", "_" and "-", and begin with a letter or digit',
    )
    .describe('Tells several secrets of one agent apart.'),
  bytes: z.int().min(16).max(1024).describe('Its length before it is written as text.').default(32),
  format: z.enum(['hex', 'base64', 'base64url']).describe('How it is written.').default('hex'),
});

const envValueSource = withRules(
  z.strictObject({
    secretKeyRef: secretKeyRef.describe('A key of a Secret.').optional(),
    configMapKeyRef: configMapKeyRef.describe('A key of a ConfigMap.').optional(),
    alias: envName
      .describe(
        'A name of the namespace’s secrets: a key of Secret ploinky-secrets, else of the workspace’s .ploinky/.secrets, its environment or its .env file. Followed through aliases.',
      )
      .optional(),
    derive: derivedSecret
      .describe('A secret of this agent alone, derived from the master key; the same after every restart.')
      .optional(),
  }),
  [exactlyOne(['secretKeyRef', 'configMapKeyRef', 'alias', 'derive'])],
);

/** One environment variable of the agent. */
export const envVarSchema = withRules(
  z.strictObject({
    name: envName.describe('Name of the variable.'),
    value: z.string().max(32_768).describe('Its value. Default: empty.').optional(),
    valueFrom: envValueSource.describe('Where its value comes from.').optional(),
  }),
  [atMostOne(['value', 'valueFrom'])],
);
