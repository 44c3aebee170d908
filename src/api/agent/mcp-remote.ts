import { z } from 'zod';
import { configMapKeyRef, listMap, listOf, secretKeyRef, text } from '../schema/fields.ts';
import { atMostOne, exactlyOne, type Rule, withRules } from '../schema/rules.ts';

const headerFrom = withRules(
  z.strictObject({
    name: text(128)
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be an HTTP header name')
      .describe('Header name. Headers that HTTP and MCP themselves need are not replaced.'),
    value: z.string().max(4096).describe('Its value in clear.').optional(),
    secretKeyRef: secretKeyRef.describe('A key of a Secret.').optional(),
    configMapKeyRef: configMapKeyRef.describe('A key of a ConfigMap.').optional(),
  }),
  [exactlyOne(['value', 'secretKeyRef', 'configMapKeyRef'])],
);

const caSchema = withRules(
  z.strictObject({
    secretKeyRef: secretKeyRef.describe('A key of a Secret.').optional(),
    configMapKeyRef: configMapKeyRef.describe('A key of a ConfigMap.').optional(),
  }),
  [exactlyOne(['secretKeyRef', 'configMapKeyRef'])],
);

const oauthSchema = withRules(
  z.strictObject({
    mode: z
      .enum(['clientCredentials', 'perUser'])
      .describe('clientCredentials: one identity for all callers. perUser: each caller logs in.'),
    issuer: text(2048)
      .regex(/^https:\/\/[^\s?#@]+$/, 'must be an https URL without query')
      .describe(
        'Authorization server; its host can be reached without being listed. Default: the one that the metadata of url names.',
      )
      .optional(),
    clientId: text(1024)
      .describe(
        'Client id. Default, with perUser: that of a client id metadata document, or of a registration at the authorization server.',
      )
      .optional(),
    clientSecretRef: secretKeyRef.describe('Client secret.').optional(),
    privateKeyRef: secretKeyRef
      .describe('Private key (PEM, PKCS #8) that signs the client’s assertions, in place of a secret.')
      .optional(),
    scopes: listOf(text(255), 64)
      .describe('Scopes asked for. Default: those that url itself asks for.')
      .optional(),
  }),
  [
    {
      rule: "self.mode != 'clientCredentials' || (has(self.clientId) && (has(self.clientSecretRef) || has(self.privateKeyRef)))",
      message: 'clientCredentials needs clientId and clientSecretRef or privateKeyRef',
      holds: (oauth) =>
        oauth.mode !== 'clientCredentials' ||
        (oauth.clientId !== undefined &&
          (oauth.clientSecretRef !== undefined || oauth.privateKeyRef !== undefined)),
    },
    atMostOne(['clientSecretRef', 'privateKeyRef']),
  ],
);

/** Members of `spec.mcp.upstream` that are about a server elsewhere. */
export const remoteFields = {
  url: text(2048)
    .regex(/^https?:\/\/[^\s/?#@]+([/?][^\s#]*)?$/, 'must be an http or https URL without user and fragment')
    .describe(
      'Address of a remote MCP server. Its host and port can be reached without being listed in network.egress, unless it is an address: then list it there.',
    )
    .optional(),
  headersFrom: listMap(headerFrom, 'name', 32)
    .describe('Headers sent to url. New values are used without a restart.')
    .optional(),
  oauth: oauthSchema.describe('How to log in at url.').optional(),
  ca: caSchema
    .describe(
      'Certificates (PEM) of the authorities that the certificates of url and of the authorization server may be signed by, in place of the public ones.',
    )
    .optional(),
};

interface RemoteMembers {
  readonly url?: string | undefined;
  readonly headersFrom?: readonly { readonly secretKeyRef?: unknown }[] | undefined;
  readonly oauth?: unknown;
  readonly ca?: unknown;
}

export const remoteRules: readonly Rule<RemoteMembers>[] = [
  {
    rule: '(!has(self.headersFrom) && !has(self.oauth) && !has(self.ca)) || has(self.url)',
    message: 'headersFrom, oauth and ca belong to url; give url or remove them',
    holds: ({ headersFrom, oauth, ca, url }) =>
      (headersFrom === undefined && oauth === undefined && ca === undefined) || url !== undefined,
  },
  {
    rule: "!has(self.url) || self.url.startsWith('https://') || (!has(self.oauth) && (!has(self.headersFrom) || self.headersFrom.all(header, !has(header.secretKeyRef))))",
    message: 'oauth and headers from Secrets would go over http in clear; use an https URL',
    at: '.url',
    holds: ({ url, oauth, headersFrom = [] }) =>
      url === undefined ||
      url.startsWith('https://') ||
      (oauth === undefined && headersFrom.every(({ secretKeyRef }) => secretKeyRef === undefined)),
  },
];
