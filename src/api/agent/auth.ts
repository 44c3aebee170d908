import { z } from 'zod';
import { configMapKeyRef, listMap, listOf, objectName, secretKeyRef, setOf, text } from '../schema/fields.ts';
import { atLeastOne, exactlyOne, withRules } from '../schema/rules.ts';

export const authModes = ['none', 'pwd', 'sso', 'guest'] as const;

const issuerUrl = text(2048).regex(
  /^https?:\/\/[^\s?#@]+$/,
  'must be an http or https URL without user, query and fragment',
);

const caSchema = withRules(
  z.strictObject({
    secretKeyRef: secretKeyRef.describe('A key of a Secret.').optional(),
    configMapKeyRef: configMapKeyRef.describe('A key of a ConfigMap.').optional(),
  }),
  [exactlyOne(['secretKeyRef', 'configMapKeyRef'])],
);

const roleSchema = z.strictObject({
  value: text(1024).describe('A value of the claim.'),
  role: text(255).describe('The role that it gives.'),
});

const ssoSchema = z.strictObject({
  issuer: issuerUrl.describe('The provider; its discovery document says the rest.'),
  clientId: text(1024).describe('Client id at the provider.'),
  clientSecretRef: secretKeyRef
    .describe('Client secret. Default: a public client, protected by PKCE alone.')
    .optional(),
  scopes: setOf(text(255), 64)
    .describe('Scopes asked for, besides openid. Default: profile and email.')
    .optional(),
  rolesClaim: text(255)
    .describe('Claim of the id token with the groups or roles; "." leads into objects. Default: roles.')
    .optional(),
  roles: listMap(roleSchema, 'value', 256)
    .describe('Roles that values of the claim give. Default: each value is a role of the same name.')
    .optional(),
  ca: caSchema
    .describe('Certificates (PEM) that the provider’s may be signed by, in place of the public ones.')
    .optional(),
});

const issuerSchema = z.strictObject({
  url: issuerUrl.describe('Issuer whose tokens count.'),
  audiences: setOf(text(2048), 16)
    .describe('Audiences that count. Default: the address of the MCP endpoint itself.')
    .optional(),
  scopes: setOf(text(255), 64).describe('Scopes that every call needs.').optional(),
});

const allowRule = z.strictObject({
  tools: listOf(text(255), 256).min(1).describe('Tool names or globs.').optional(),
  resources: listOf(text(2048), 256)
    .min(1)
    .describe('URIs or globs of resources and of their templates.')
    .optional(),
  prompts: listOf(text(255), 256).min(1).describe('Prompt names or globs.').optional(),
  roles: setOf(text(255), 64)
    .describe('Roles of which the caller needs one. Default: anybody who may come in.')
    .optional(),
  claims: listOf(
    z.strictObject({
      name: text(255).describe('Claim.'),
      values: listOf(text(1024), 64).min(1).describe('Values of which it needs one.'),
    }),
    16,
  )
    .describe('Claims that the caller needs, all of them.')
    .optional(),
  scopes: setOf(text(255), 64)
    .describe('Scopes that the caller’s token or key needs, all of them.')
    .optional(),
});

const allowSchema = withRules(allowRule, [atLeastOne(['tools', 'resources', 'prompts'])]);

const authFields = z.strictObject({
  mode: z
    .enum(authModes)
    .describe(
      'none: anybody who reaches the router. pwd: user and password. sso: OpenID Connect. guest: a temporary identity.',
    )
    .default('none'),
  usersSecretRef: z
    .strictObject({ name: objectName.describe('Name of the Secret.') })
    .describe(
      'Secret with the users of mode pwd; `ploinky user` writes it. Default: the object’s name with `-users` behind it.',
    )
    .optional(),
  sso: ssoSchema.describe('The provider of mode sso.').optional(),
  issuers: listMap(issuerSchema, 'url', 8).describe('Issuers of bearer tokens for MCP clients.').optional(),
  allow: listOf(allowSchema, 64)
    .describe(
      'Who may call what; what no rule lets a caller use is not listed for them either. Default: everybody everything.',
    )
    .optional(),
});

type Fields = z.output<typeof authFields>;

function looksAtPeople({ roles, claims, scopes }: NonNullable<Fields['allow']>[number]): boolean {
  return roles !== undefined || claims !== undefined || scopes !== undefined;
}

/**
 * Who may come in and who may call what: the same for an Agent and for a Route. A caller must satisfy those of both.
 */
// The API server tries the rules on the default, an object without `mode`, too.
export const authSchema = withRules(authFields, [
  {
    rule: "!has(self.mode) || self.mode != 'sso' || has(self.sso)",
    message: 'mode sso needs a provider: give issuer and clientId',
    at: '.sso',
    holds: ({ mode, sso }) => mode !== 'sso' || sso !== undefined,
  },
  {
    rule: "(has(self.mode) && self.mode != 'none') || has(self.issuers) || !has(self.allow) || self.allow.all(rule, !has(rule.roles) && !has(rule.claims) && !has(rule.scopes))",
    message:
      'roles, claims and scopes count only where somebody is known: give a mode other than none, or issuers',
    at: '.allow',
    holds: ({ mode, issuers, allow = [] }) =>
      mode !== 'none' || issuers !== undefined || !allow.some(looksAtPeople),
  },
]);

export type Auth = Fields;
