import { z } from 'zod';
import { objectName } from '../schema/fields.ts';
import { notYet, notYetValues } from '../schema/rules.ts';

export const authModes = ['none', 'pwd', 'sso', 'guest'] as const;

/** How people prove who they are before they reach this agent. */
export const authSchema = z.strictObject({
  mode: notYetValues(z.enum(authModes), ['pwd', 'sso', 'guest'])
    .describe(
      'none: anybody who reaches the router. pwd: user and password. sso: OpenID Connect. guest: a temporary identity.',
    )
    .default('none'),
  usersSecretRef: notYet(z.strictObject({ name: objectName.describe('Name of the Secret.') }))
    .describe('Secret with the users of mode pwd.')
    .optional(),
});
