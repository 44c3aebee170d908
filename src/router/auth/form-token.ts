import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Random } from '#kit/random.ts';
import type { RouterKeys } from '../keys.ts';
import { addCookie, readCookie } from './cookies.ts';
import { isSecure } from './sessions.ts';
import type { AuthSettings } from './settings.ts';

/**
 * Shows that a form was sent from a page that this router gave to the same browser: the cookie holds a random value,
 * the form its HMAC, which nobody else can make. Besides the check of `Origin`, which some browsers leave out.
 */
export interface FormTokens {
  /** For a form of the answer whose head is not written yet. */
  issue(request: IncomingMessage, response: ServerResponse): string;
  verify(request: IncomingMessage, token: string | null | undefined): boolean;
}

const maxAge = 3_600;

export function createFormTokens(keys: RouterKeys, random: Random, settings: AuthSettings): FormTokens {
  const name = isSecure(settings) ? '__Host-ploinky_form' : 'ploinky_form';
  const nonceOf = (request: IncomingMessage) => {
    const nonce = readCookie(request, name);
    return nonce !== undefined && /^[\w-]{22}$/.test(nonce) ? nonce : undefined;
  };
  const tokens = (nonce: string) =>
    keys.session.map(({ secret }) => createHmac('sha256', secret).update(`form ${nonce}`).digest());
  return {
    issue(request, response) {
      const nonce = nonceOf(request) ?? random.bytes(16).toString('base64url');
      addCookie(response, name, nonce, { maxAge, secure: isSecure(settings), sameSite: 'Strict' });
      return tokens(nonce)[0]?.toString('base64url') ?? '';
    },
    verify(request, token) {
      const nonce = nonceOf(request);
      if (nonce === undefined || token === null || token === undefined) return false;
      const shown = Buffer.from(token, 'base64url');
      return tokens(nonce).some((wanted) => wanted.length === shown.length && timingSafeEqual(wanted, shown));
    },
  };
}
