import * as oauth from 'oauth4webapi';
import { AgentServerError } from '#agent-server/errors.ts';
import type { UpstreamSecrets } from '#api/agent-server-config.ts';
import { isObject } from '#kit/json.ts';
import { clientMetadata } from '#wire/upstream-login.ts';
import { clientAuthentication, secretInHeader } from '../client-authentication.ts';
import { insecure, unusable } from '../discovery.ts';
import type { Fetch } from '../fetch.ts';
import { refusal } from '../refusal.ts';

/** A client that one authorization server knows. It is used at no other. */
export interface KnownClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Where it comes from: the spec, a document of its own that the server reads, or a registration. */
  readonly origin: 'spec' | 'document' | 'registered';
  /** Of a registration. */
  readonly secret?: string | undefined;
  readonly method?: string | undefined;
  /** Milliseconds since the epoch after which the secret is none; undefined: it has no end. */
  readonly secretEnds?: number | undefined;
  readonly redirectUri: string;
}

export interface RegistrationOptions {
  readonly url: URL;
  readonly issuer: string | undefined;
  /** Of the spec. */
  readonly clientId: string | undefined;
  readonly redirectUri: string;
  /** Address of a client id metadata document that names `redirectUri`; undefined: there is none. */
  readonly document: string | undefined;
  readonly fetch: Fetch;
}

/**
 * The client to be at this authorization server: the one of the spec, else a document, else a new registration (RFC 7591).
 * Throws UpstreamUnauthorized when the server takes none of them.
 */
export async function becomeClient(
  server: oauth.AuthorizationServer,
  options: RegistrationOptions,
): Promise<KnownClient> {
  const { clientId, redirectUri, document } = options;
  const { issuer } = server;
  if (clientId !== undefined) return { issuer, clientId, origin: 'spec', redirectUri };
  if (document !== undefined && server['client_id_metadata_document_supported'] === true)
    return { issuer, clientId: document, origin: 'document', method: 'none', redirectUri };
  if (server.registration_endpoint === undefined) {
    throw unusable(
      `the authorization server ${issuer} registers no clients`,
      'Register one there with the redirect address of the router, and name it in mcp.upstream.oauth.clientId.',
    );
  }
  return register(server, options);
}

async function register(
  server: oauth.AuthorizationServer,
  options: RegistrationOptions,
): Promise<KnownClient> {
  const { redirectUri, fetch } = options;
  const method = methodFor(server);
  try {
    const answer = await oauth.dynamicClientRegistrationRequest(
      server,
      { ...clientMetadata(redirectUri), token_endpoint_auth_method: method },
      { [oauth.customFetch]: fetch, ...insecure(new URL(server.registration_endpoint ?? ''), options) },
    );
    const client = await oauth.processDynamicClientRegistrationResponse(await withEnd(answer));
    const { client_secret: secret, client_secret_expires_at: ends } = client;
    const said = client.token_endpoint_auth_method;
    return {
      issuer: server.issuer,
      clientId: client.client_id,
      origin: 'registered',
      secret: typeof secret === 'string' ? secret : undefined,
      method: typeof said === 'string' ? said : method,
      ...(typeof ends === 'number' && ends > 0 && { secretEnds: ends * 1_000 }),
      redirectUri,
    };
  } catch (error) {
    throw error instanceof AgentServerError ? error : refusal(server, error);
  }
}

/** Many servers do not say that a secret has no end, though they have to. */
async function withEnd(answer: Response): Promise<Response> {
  if (answer.status !== 201) return answer;
  const said: unknown = await answer.json();
  return Response.json(isObject(said) ? { client_secret_expires_at: 0, ...said } : said, { status: 201 });
}

const registrable = ['client_secret_basic', 'client_secret_post', 'none'];

function methodFor({ token_endpoint_auth_methods_supported: offered }: oauth.AuthorizationServer): string {
  if (offered === undefined) return 'client_secret_basic';
  const method = registrable.find((one) => offered.includes(one));
  if (method !== undefined) return method;
  throw unusable(
    `the authorization server lets clients log in by ${offered.join(', ')} alone`,
    'Register a client there, and name it in mcp.upstream.oauth.clientId and privateKeyRef.',
  );
}

/** How this client proves at the token endpoint who it is. */
export function authenticationOf(
  server: oauth.AuthorizationServer,
  { origin, secret, method }: KnownClient,
  secrets: UpstreamSecrets,
): oauth.ClientAuth {
  if (origin === 'spec') {
    const hasProof = secrets.clientSecret !== undefined || secrets.privateKey !== undefined;
    return hasProof ? clientAuthentication(server, secrets) : oauth.None();
  }
  if (secret === undefined || method === 'none') return oauth.None();
  return method === 'client_secret_post' ? oauth.ClientSecretPost(secret) : secretInHeader(secret);
}
