import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { sha256Hex } from '#kit/digest.ts';

/** True for requests that carry `Authorization: Bearer <token>`. Compares in constant time. */
export function bearerAuthorizer(token: string): (request: IncomingMessage) => boolean {
  const expected = Buffer.from(sha256Hex(token));
  return (request) => {
    const match = /^Bearer\s+(\S+)\s*$/i.exec(request.headers.authorization ?? '');
    return match?.[1] !== undefined && timingSafeEqual(Buffer.from(sha256Hex(match[1])), expected);
  };
}
