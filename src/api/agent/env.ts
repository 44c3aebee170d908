import { z } from 'zod';
import { configMapKeyRef, envName, secretKeyRef, shortText } from '../schema/fields.ts';
import { atMostOne, exactlyOne, notYet, withRules } from '../schema/rules.ts';

const envValueSource = withRules(
  z.strictObject({
    secretKeyRef: secretKeyRef.describe('A key of a Secret.').optional(),
    configMapKeyRef: configMapKeyRef.describe('A key of a ConfigMap.').optional(),
    alias: notYet(shortText)
      .describe('A name in the workspace’s secret store, followed through its aliases.')
      .optional(),
  }),
  [exactlyOne(['secretKeyRef', 'configMapKeyRef', 'alias'])],
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
