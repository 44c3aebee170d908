import { codeOf } from '#kit/errors.ts';
import { AuthRefused } from '../authenticator.ts';
import { OutgoingError } from '../outgoing/errors.ts';
import { MissingValue } from './provider.ts';

const failures = {
  login_expired: { status: 401, text: 'The login took too long, or began in another browser. Log in again.' },
  login_failed: { status: 401, text: 'The identity provider did not confirm the login.' },
  login_denied: { status: 401, text: 'The login was not completed at the identity provider.' },
  provider_unreachable: {
    status: 503,
    text: 'The identity provider cannot be reached now. Nobody can log in with it until it answers again.',
  },
  provider_not_set_up: {
    status: 503,
    text: 'A secret or certificate of the identity provider is missing. Whoever runs this has to supply it.',
  },
} as const;

export type SsoFailure = keyof typeof failures;

export function ssoRefused(code: SsoFailure, cause?: unknown): AuthRefused {
  const { status, text } = failures[code];
  return new AuthRefused({ status, code, description: text }, cause);
}

/** What a person is told of anything that went wrong; the cause stays for the log. */
export function refusalOf(error: unknown): AuthRefused {
  if (error instanceof AuthRefused) return error;
  const outgoing = outgoingIn(error);
  if (outgoing !== undefined) return ssoRefused('provider_unreachable', outgoing);
  if (error instanceof MissingValue) return ssoRefused('provider_not_set_up', error);
  const isDenied = codeOf(error) === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR';
  return ssoRefused(isDenied ? 'login_denied' : 'login_failed', error);
}

function outgoingIn(error: unknown): OutgoingError | undefined {
  let at: unknown = error;
  for (let depth = 0; depth < 5 && at instanceof Error; depth += 1) {
    if (at instanceof OutgoingError) return at;
    at = at.cause;
  }
  return undefined;
}
