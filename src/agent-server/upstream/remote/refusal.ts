import * as oauth from 'oauth4webapi';
import { messageOf } from '#kit/errors.ts';
import { AgentServerError } from '../../errors.ts';

/** An authorization server says no. */
export class ServerSaysNo extends AgentServerError {
  /** Its error code (RFC 6749, 5.2); undefined: it gave none. */
  readonly said: string | undefined;

  constructor(problem: string, remedy: string, said: string | undefined) {
    super('UpstreamUnauthorized', `No token can be had: ${problem}. ${remedy}`, { remedy });
    this.said = said;
  }
}

/** The server knows the client no more, or never did. */
export function knowsNoClient(error: unknown): boolean {
  return (
    error instanceof ServerSaysNo && (error.said === 'invalid_client' || error.said === 'unauthorized_client')
  );
}

/** What the server says when it only wants to be asked later. */
const later = new Set(['slow_down', 'temporarily_unavailable', 'server_error']);

/** What the authorization server said, without anything that is secret. */
export function refusal({ issuer }: oauth.AuthorizationServer, error: unknown): AgentServerError {
  const said = saidIn(error);
  if (said === undefined) {
    const problem = messageOf(error);
    return new AgentServerError(
      'UpstreamLost',
      `The authorization server ${issuer} gave no token: ${problem}`,
    );
  }
  if (said.status >= 500 || said.status === 429 || said.status === 408 || later.has(said.error ?? '')) {
    return new AgentServerError(
      'UpstreamLost',
      `The authorization server ${issuer} answers HTTP ${said.status}`,
    );
  }
  const words = [said.error, said.description].filter((part) => part !== undefined).join(': ');
  return new ServerSaysNo(
    `the authorization server ${issuer} refuses the client (${words === '' ? `HTTP ${said.status}` : words})`,
    'Put the right credentials into the Secret of mcp.upstream.oauth.',
    said.error,
  );
}

export interface Said {
  readonly status: number;
  readonly error?: string | undefined;
  readonly description?: string | undefined;
}

/** Undefined: it said nothing that can be understood. */
export function saidIn(error: unknown): Said | undefined {
  if (error instanceof oauth.ResponseBodyError) {
    return { status: error.status, error: error.error, description: error.error_description };
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    const [challenge] = error.cause;
    const { error: code, error_description: description } = challenge?.parameters ?? {};
    return { status: error.status, error: code, description };
  }
  const { status } = ((error as { cause?: unknown } | undefined)?.cause ?? {}) as { status?: unknown };
  return typeof status === 'number' && status >= 500 ? { status } : undefined;
}
