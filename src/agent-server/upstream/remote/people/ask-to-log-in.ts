import type { CallContext } from '#agent-server/source.ts';
import { isObject } from '#kit/json.ts';
import { mayAsk } from '#mcp/bridge/capabilities.ts';
import { inputRequired, isAskingMethod, withoutRetryMembers } from '#mcp/bridge/questions.ts';
import { headerOf } from '#mcp/headers.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { loginOriginHeader } from '#wire/upstream-login.ts';

export interface LoginPlace {
  /** Where people log in, for people to read. */
  readonly host: string;
  /** Path of the router's page. */
  readonly page: string;
  /** Of the elicitation. */
  readonly id: string;
}

/** Key of the question in `inputRequests`. */
const question = 'ploinky-login';

/**
 * The answer to a call of somebody who has to log in at `host` first: `input_required` with a URL for clients of
 * 2026-07-28, error -32042 for those with sessions, and for who cannot be sent anywhere an error that names the page.
 */
export function askToLogIn(
  method: string,
  params: Params,
  context: CallContext,
  { host, page, id }: LoginPlace,
): Result {
  const origin = headerOf(context.headers, loginOriginHeader);
  if (origin === undefined) {
    const problem = `Log in at ${host} first: open ${page} at the router's address in a browser`;
    throw new RpcError(errorCodes.internal, problem);
  }
  const url = `${origin}${page}`;
  const message = `${host} wants to know who you are. Log in at ${url}, then try again.`;
  const asked = { mode: 'url', url, message, elicitationId: id };
  if (context.era === 'sessions')
    throw new RpcError(errorCodes.urlElicitationRequired, message, { elicitations: [asked] });
  if (
    !isAskingMethod(method) ||
    !mayAsk(context.capabilities, 'elicitation/create', asked) ||
    hasSaidNo(params)
  )
    throw new RpcError(errorCodes.internal, message, { url });
  return inputRequired(new Map([[question, { method: 'elicitation/create', params: asked }]]), undefined);
}

/** What the client answered to the question here; undefined: nothing. */
function answerIn({ inputResponses }: Params): unknown {
  const answer = isObject(inputResponses) ? inputResponses[question] : undefined;
  return isObject(answer) ? answer['action'] : undefined;
}

/** Asked again, some clients would say no for ever. */
function hasSaidNo(params: Params): boolean {
  const answer = answerIn(params);
  return answer !== undefined && answer !== 'accept';
}

/** Clients say so when the page is open, which is before the person has logged in. */
export function goesToLogIn(params: Params): boolean {
  return answerIn(params) === 'accept';
}

/** The call as it was first sent, where it comes again after the question here: the server asked nothing. */
export function withoutLoginAnswer(params: Params): Params {
  const isOurs = answerIn(params) !== undefined && params['requestState'] === undefined;
  return isOurs ? withoutRetryMembers(params) : params;
}
