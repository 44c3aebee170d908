import { AgentServerError } from '../../errors.ts';
import type { HttpAnswer, RemoteServer } from '../http-exchange.ts';
import { textOf } from '../http-outcome.ts';
import { orAbort } from '../keeper.ts';
import { type Challenge, challengeOf } from './challenge.ts';
import type { Tokens } from './tokens.ts';

export interface AuthorizedOptions {
  /** For messages. */
  readonly host: string;
  /** Headers of the spec with their values now. */
  readonly headers: () => Record<string, string>;
  readonly tokens: Tokens | undefined;
}

/** The agent's own credentials on each request, and nothing of the caller's: its token is for this agent alone. */
export function createAuthorized({
  host,
  headers: own,
  tokens,
}: AuthorizedOptions): RemoteServer['authorized'] {
  return async (method, headers, signal, send) => {
    const isStream = method === 'GET';
    const { authorization: _callers, ...protocol } = headers;
    const attempt = (token: string | undefined) =>
      send({
        ...lowerCased(own()),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...protocol,
        host,
      });
    const token = await orAbort(tokens?.current() ?? Promise.resolve(undefined), signal);
    const answer = await attempt(token);
    if (!isStream) refuseRedirect(host, answer);
    const challenge = challengeOf(answer);
    if (challenge === undefined) {
      if (token !== undefined) tokens?.served();
      return answer;
    }
    const other = canBeMended(challenge)
      ? await orAbort(tokens?.renew(challenge, token) ?? nothing, signal)
      : undefined;
    if (other === undefined && isStream) return answer;
    if (other === undefined) throw refused(host, challenge);
    const second = await attempt(other);
    if (!isStream) refuseRedirect(host, second);
    const still = challengeOf(second);
    if (still === undefined) {
      tokens?.served();
      return second;
    }
    if (isStream) return second;
    const error = refused(host, still);
    if (still.status === 401) tokens?.giveUp(other, error);
    throw error;
  };
}

const nothing = Promise.resolve(undefined);

function canBeMended({ status, error }: Challenge): boolean {
  return status === 401 || error === 'insufficient_scope';
}

/** Of the connection, of MCP and of the message itself: not the spec's to say. */
const notOwn =
  /^(accept|connection|content-(encoding|length|type)|expect|host|keep-alive|last-event-id|mcp-.*|proxy-.*|te|trailer|transfer-encoding|upgrade)$/;

function lowerCased(headers: Record<string, string>): Record<string, string> {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(named.filter(([name]) => !notOwn.test(name)));
}

/** A redirect is not followed: headers would go where nobody meant them to. */
function refuseRedirect(host: string, { status, headers }: HttpAnswer): void {
  if (status < 300 || status > 399) return;
  const place = textOf(headers.location) ?? 'another address';
  throw new AgentServerError(
    'UpstreamInvalid',
    `${host} redirects to ${place} (HTTP ${status}); if that is the MCP server, make it mcp.upstream.url`,
  );
}

function refused(host: string, { status, error, description }: Challenge): AgentServerError {
  const said = [error, description].filter((part) => part !== undefined).join(': ');
  return new AgentServerError(
    'UpstreamUnauthorized',
    `${host} refuses the agent (HTTP ${status}${said === '' ? '' : `, ${said}`}); put the right credentials into the Secrets of mcp.upstream`,
  );
}
