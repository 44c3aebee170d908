import type { HttpAnswer } from '../http-exchange.ts';
import { textOf } from '../http-outcome.ts';

/** What a server that refuses a request says is missing (RFC 6750, RFC 9728). */
export interface Challenge {
  readonly status: number;
  readonly error: string | undefined;
  readonly description: string | undefined;
  readonly scopes: readonly string[];
  /** Address of the server's metadata. */
  readonly metadata: string | undefined;
}

/** Undefined: the request was not refused for want of credentials. */
export function challengeOf({
  status,
  headers,
}: Pick<HttpAnswer, 'status' | 'headers'>): Challenge | undefined {
  if (status !== 401 && status !== 403) return undefined;
  const text = textOf(headers['www-authenticate']) ?? '';
  const parameter = (name: string) =>
    new RegExp(`(?:^|[\\s,])${name}\\s*=\\s*(?:"([^"]*)"|([^\\s,"]+))`, 'i').exec(text)?.slice(1).join('') ||
    undefined;
  return {
    status,
    error: parameter('error'),
    description: parameter('error_description'),
    scopes:
      parameter('scope')
        ?.split(' ')
        .filter((scope) => scope !== '') ?? [],
    metadata: parameter('resource_metadata'),
  };
}
