import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Access } from '#routing/access.ts';
import { closeBehindBody } from '../leave-body.ts';
import { writeJson } from '../mcp/answer.ts';
import { factsOf } from '../request.ts';
import type { Services } from '../services.ts';
import type { RefusalDetails } from './authenticator.ts';
import { challengeOf } from './challenge.ts';

const notAuthenticated: RefusalDetails = {
  status: 401,
  code: 'not_authenticated',
  description: 'log in first',
};

/**
 * Answers who may not come in: browsers are led to the login page of what asks, programs told where it is. Without
 * `asking` nobody could come in. Always false.
 */
export function refuse(
  services: Pick<Services, 'auth' | 'clock'>,
  request: IncomingMessage,
  response: ServerResponse,
  asking: Access | undefined,
  details: RefusalDetails = notAuthenticated,
): false {
  const { path, search } = factsOf(request);
  const canLogIn = asking !== undefined && asking.mode !== 'none' && details.status === 401;
  const login = `/auth/login?${new URLSearchParams({ returnTo: `${path}${search}` })}`;
  closeBehindBody({ request, response }, services.clock);
  response.setHeader('cache-control', 'no-store');
  if (canLogIn && details === notAuthenticated && isBrowsing(request)) {
    response.writeHead(302, { location: login, 'content-length': 0 }).end();
    return false;
  }
  const challenge = challengeOf(services, request, asking, details);
  const answer = {
    ok: false,
    error: details.code,
    ...(details !== notAuthenticated && { message: details.description }),
    ...(canLogIn && { login }),
    // Programs have nothing to show there that people with a browser have.
    ...(canLogIn && asking.mode === 'sso' && { mode: 'sso' }),
  };
  writeJson(
    response,
    details.status,
    answer,
    challenge === undefined ? {} : { 'www-authenticate': challenge },
  );
  return false;
}

/** Somebody who looks at pages: programs ask for JSON, or do not GET. */
export function isBrowsing(request: IncomingMessage): boolean {
  const { accept = '' } = request.headers;
  if (request.method !== 'GET' && request.method !== 'HEAD') return false;
  if (/\bapplication\/json\b|\btext\/event-stream\b/.test(accept)) return false;
  const { path, resolution } = factsOf(request);
  return (
    resolution.kind === 'static' ||
    (accept.includes('text/html') && !/^\/(mcps?|apis?|blobs|\.ploinky)(\/|$)/.test(path))
  );
}
