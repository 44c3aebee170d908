import type { IncomingMessage } from 'node:http';
import type { Access } from '#routing/access.ts';
import type { Services } from '../services.ts';
import type { RefusalDetails } from './authenticator.ts';
import { challengeParameters } from './metadata/challenge.ts';

/** The value of `WWW-Authenticate`, or undefined when the answer needs none. */
export function challengeOf(
  { auth }: Pick<Services, 'auth'>,
  request: IncomingMessage,
  asking: Access | undefined,
  { status, code, description, challenge = {} }: RefusalDetails,
): string | undefined {
  if (status === 503) return undefined;
  const isAboutToken = code === 'invalid_token' || code === 'insufficient_scope';
  const parameters = {
    realm: 'ploinky',
    ...(isAboutToken && { error: code, error_description: description }),
    ...(asking && challengeParameters(auth, request, asking)),
    ...challenge,
  };
  const written = Object.entries(parameters).map(
    ([name, value]) => `${name}="${value.replace(/[^ !#-[\]-~]/g, '')}"`,
  );
  return `Bearer ${written.join(', ')}`;
}
