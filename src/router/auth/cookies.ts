import type { IncomingMessage, ServerResponse } from 'node:http';

export interface CookieOptions {
  /** Seconds; 0 takes it away. */
  readonly maxAge: number;
  readonly secure: boolean;
  readonly sameSite: 'Lax' | 'Strict';
  /** Default "/". `__Host-` cookies have no other. */
  readonly path?: string;
}

/** The value of a cookie; undefined when there is none, or two of the name, of which one could be somebody else's. */
export function readCookie({ headers }: IncomingMessage, name: string): string | undefined {
  const { cookie } = headers;
  if (cookie === undefined || !cookie.includes(name)) return undefined;
  const found = cookie.split(';').flatMap((pair) => {
    const equals = pair.indexOf('=');
    return equals >= 0 && pair.slice(0, equals).trim() === name ? [pair.slice(equals + 1).trim()] : [];
  });
  return found.length === 1 ? found[0] : undefined;
}

/** Adds to an answer whose head is not written yet. The value must be of characters that cookies may have. */
export function addCookie(
  response: ServerResponse,
  name: string,
  value: string,
  { maxAge, secure, sameSite, path = '/' }: CookieOptions,
): void {
  const flags = `Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}`;
  response.appendHeader('set-cookie', `${name}=${value}; ${flags}`);
}
