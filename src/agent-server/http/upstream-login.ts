import * as z from 'zod/mini';
import { codeOf, messageOf } from '#kit/errors.ts';
import { bindUpstreamLogin, type UpstreamLoginRequest } from '#wire/upstream-login.ts';
import type { Guard } from '../mcp/guard.ts';
import type { Logins } from '../upstream/remote/people/logins.ts';
import { nobody, userOf } from '../upstream/remote/people/user-of.ts';
import { allowOnly, type Handler, sendObject } from './app.ts';
import { readBody } from './body.ts';

const mostBytes = 64 * 1024;
const address = z.string().check(z.maxLength(2048));
const requestSchema = z.discriminatedUnion('action', [
  z.object({ action: z.literal('look') }),
  z.object({ action: z.literal('begin'), redirectUri: address, document: z.optional(address) }),
  z.object({ action: z.literal('finish'), query: z.string() }),
  z.object({ action: z.literal('end') }),
]);

/**
 * POST /upstream-login: the router logs the person of its token in or out at the remote upstream. What agents ask on
 * somebody's behalf is refused: a login is the person's own.
 */
export function upstreamLoginHandler(guard: Guard, logins: Logins | undefined): Handler {
  return async (request, response) => {
    if (!allowOnly(request, response, 'POST')) return;
    const asked = parseRequest(await readBody(request, mostBytes));
    if (asked === undefined) {
      sendObject(response, 400, { error: 'the body is no request about a login' });
      return;
    }
    const { claims } = guard.admit(request, bindUpstreamLogin(asked));
    const user = userOf({ claims });
    if (claims?.caller !== 'router:first-party' || claims.hop !== 0 || user === nobody) {
      sendObject(response, 403, { error: 'only a person logs in, and nobody for them' });
      return;
    }
    if (logins === undefined) {
      sendObject(response, 404, { error: 'nobody logs in at this agent' });
      return;
    }
    try {
      sendObject(response, 200, await logins(user, asked));
    } catch (error) {
      if (!known.has(codeOf(error))) throw error;
      sendObject(response, 502, { error: messageOf(error) });
    }
  };
}

const known: ReadonlySet<string | undefined> = new Set([
  'UpstreamUnauthorized',
  'UpstreamNotAllowed',
  'UpstreamLost',
  'UpstreamTimeout',
  'UpstreamInvalid',
  'UpstreamBusy',
]);

function parseRequest(text: string): UpstreamLoginRequest | undefined {
  try {
    return requestSchema.parse(JSON.parse(text)) as UpstreamLoginRequest;
  } catch {
    return undefined;
  }
}
