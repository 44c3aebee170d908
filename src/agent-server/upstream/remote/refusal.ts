import * as oauth from 'oauth4webapi';
import { messageOf } from '#kit/errors.ts';
import { AgentServerError } from '../../errors.ts';
import { unusable } from './discovery.ts';

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
  if (said.status >= 500) {
    return new AgentServerError(
      'UpstreamLost',
      `The authorization server ${issuer} answers HTTP ${said.status}`,
    );
  }
  const words = [said.error, said.description].filter((part) => part !== undefined).join(': ');
  return unusable(
    `the authorization server ${issuer} refuses the client (${words === '' ? `HTTP ${said.status}` : words})`,
    'Put the right credentials into the Secret of mcp.upstream.oauth.',
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
