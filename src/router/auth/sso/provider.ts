import * as openid from 'openid-client';
import type { SsoAccess } from '#routing/access.ts';
import type { Discovery } from '../outgoing/discover.ts';
import type { Outgoing } from '../outgoing/fetch.ts';

/** Reads a value that an `auth` names: a client secret, certificates. */
export type AuthValue = (key: string) => string | undefined;

/** openid-client's view of the provider of an Access; its secrets are read anew each time. */
export type Providers = (sso: SsoAccess) => Promise<openid.Configuration>;

const skewSeconds = 10;

export function createProviders(outgoing: Outgoing, discovery: Discovery, value: AuthValue): Providers {
  return async (sso) => {
    const { issuer, clientId, clientSecretKey, caKey } = sso;
    const ca = caKey === undefined ? undefined : required(value, caKey, 'the certificates of the provider');
    const secret =
      clientSecretKey === undefined ? undefined : required(value, clientSecretKey, 'the client secret');
    const metadata = (await discovery.of(issuer, ca)) as openid.ServerMetadata;
    const client = { [openid.clockTolerance]: skewSeconds };
    const configuration = new openid.Configuration(
      metadata,
      clientId,
      client,
      authentication(metadata, secret),
    );
    configuration[openid.customFetch] = (url, { method, headers, body }) =>
      outgoing.fetch(url, { method, headers, body }, ca);
    // Signatures of id tokens are checked too, not only where they came from.
    openid.enableNonRepudiationChecks(configuration);
    // Which URLs may be asked, by http too, is decided where they are asked.
    openid.allowInsecureRequests(configuration);
    return configuration;
  };
}

/** What an Agent or a Route names and the router has not got. */
export class MissingValue extends Error {
  override readonly name = 'MissingValue';
}

function required(value: AuthValue, key: string, what: string): string {
  const found = value(key);
  if (found === undefined || found === '') throw new MissingValue(`${what} is not there`);
  return found;
}

function authentication(
  { token_endpoint_auth_methods_supported: methods }: openid.ServerMetadata,
  secret: string | undefined,
): openid.ClientAuth {
  if (secret === undefined) return openid.None();
  const isBasic = methods === undefined || methods.includes('client_secret_basic');
  return isBasic ? openid.ClientSecretBasic(secret) : openid.ClientSecretPost(secret);
}
