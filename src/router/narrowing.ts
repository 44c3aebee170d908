import type { IncomingHttpHeaders } from 'node:http';
import type { InvocationClaims } from '#wire/claims.ts';
import { InvocationRejected } from '#wire/errors.ts';
import type { Caller } from './caller.ts';

/** Headers beside the delegation's, in which an agent asks for less than it may have. */
export const scopesHeader = 'x-ploinky-scopes';
export const toolsHeader = 'x-ploinky-tools';

/** Names in one header; more than anybody has is a mistake. */
const mostNames = 256;

/**
 * What a delegated call may use: what the token says, or the part of it that the agent asks for, which binds every
 * further delegation. Throws InvocationRejected for what the token does not have: an agent gets less, never more.
 */
export function narrowed(
  { lim, tls }: Pick<InvocationClaims, 'lim' | 'tls'>,
  headers: IncomingHttpHeaders,
): Pick<Caller, 'scopes' | 'tools'> {
  const scopes = narrowedTo(namesIn(headers[scopesHeader]), lim, (held, asked) => held === asked);
  const tools = narrowedTo(namesIn(headers[toolsHeader]), tls, covers);
  return { ...(scopes && { scopes }), ...(tools && { tools }) };
}

/** Throws InvocationRejected for a tool that an agent on the way has left out. */
export function checkTool({ tools }: Pick<Caller, 'tools'>, tool: string): void {
  if (tools !== undefined && !tools.some((held) => covers(held, tool)))
    throw new InvocationRejected('jwtVerify: tool not delegated');
}

function namesIn(value: string | string[] | undefined): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const names = (Array.isArray(value) ? value.join(' ') : value)
    .split(/[\s,]+/)
    .filter((name) => name !== '');
  if (names.length > mostNames) throw new InvocationRejected('jwtVerify: scope not held');
  return [...new Set(names)];
}

function narrowedTo(
  asked: readonly string[] | undefined,
  held: readonly string[] | undefined,
  covered: (held: string, asked: string) => boolean,
): readonly string[] | undefined {
  if (asked === undefined) return held;
  const isHeld = held === undefined || asked.every((name) => held.some((one) => covered(one, name)));
  if (!isHeld) throw new InvocationRejected('jwtVerify: scope not held');
  return asked;
}

/** Whether all that `asked` names, a name or `prefix*`, is named by `held`. */
function covers(held: string, asked: string): boolean {
  return held.endsWith('*') ? asked.startsWith(held.slice(0, -1)) : asked === held;
}
