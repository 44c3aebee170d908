import { isObject } from '#kit/json.ts';
import { errorCodes, type Params, RpcError } from '../jsonrpc.ts';
import type { Result } from '../results.ts';
import { type Capabilities, mayAsk } from './capabilities.ts';

/** A server's question, whichever way it travels. */
export interface Question {
  readonly method: string;
  readonly params: Params;
}

/** Methods whose result may ask for input in 2026-07-28. */
const askingMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

export function isAskingMethod(method: string): boolean {
  return askingMethods.has(method);
}

export function asksForInput(result: Result): boolean {
  return result['resultType'] === 'input_required';
}

/**
 * What an `input_required` result asks, by the server's keys, as requests for a client with sessions: an elicitation
 * of mode `url` gets an id from `mintId`, which 2025-11-25 wants. Throws RpcError `internal` for what cannot be asked:
 * malformed, of another method, or not declared by the client.
 */
export function questionsFor(
  result: Result,
  capabilities: Capabilities,
  mintId: () => string,
): ReadonlyMap<string, Question> {
  const { inputRequests = {} } = result;
  if (!isObject(inputRequests)) throw unaskable('inputRequests is not an object');
  return new Map(
    Object.entries(inputRequests).map(([key, request]) => {
      if (!isObject(request) || typeof request['method'] !== 'string')
        throw unaskable(`${key} is no request`);
      const { method, params = {} } = request;
      if (!isObject(params)) throw unaskable(`${key} has no usable params`);
      if (!mayAsk(capabilities, method, params)) {
        throw unaskable(`it asks ${method}, which the client did not declare`);
      }
      return [key, { method, params: withElicitationId(method, params, mintId) }];
    }),
  );
}

function withElicitationId(method: string, params: Params, mintId: () => string): Params {
  if (method !== 'elicitation/create' || params['mode'] !== 'url' || params['elicitationId'] !== undefined) {
    return params;
  }
  return { ...params, elicitationId: mintId() };
}

function unaskable(reason: string): RpcError {
  return new RpcError(errorCodes.internal, `The agent asks something that cannot be passed on: ${reason}`);
}

/** The params of a call that is sent again with answers, and the state that came with the questions. */
export function retryParams(
  params: Params,
  responses: Readonly<Record<string, unknown>>,
  requestState: unknown,
): Params {
  const { inputResponses: _before, requestState: _old, ...rest } = params;
  return { ...rest, inputResponses: responses, ...(requestState !== undefined && { requestState }) };
}

/** The same params as the first call had them: without what only a retry of 2026-07-28 carries. */
export function withoutRetryMembers(params: Params): Params {
  if (params['inputResponses'] === undefined && params['requestState'] === undefined) return params;
  const { inputResponses: _responses, requestState: _state, ...rest } = params;
  return rest;
}

/** `input_required` of 2026-07-28 for the questions of a server with sessions, by keys of the caller. */
export function inputRequired(
  questions: ReadonlyMap<string, Question>,
  requestState: string | undefined,
): Result {
  const inputRequests = Object.fromEntries(
    [...questions].map(([key, { method, params }]) => [key, inputRequest(method, params)]),
  );
  return {
    resultType: 'input_required',
    inputRequests,
    ...(requestState !== undefined && { requestState }),
  };
}

/** 2026-07-28 has no elicitation ids, and neither tasks nor progress of questions. */
function inputRequest(method: string, params: Params): { method: string; params?: Params } {
  const { elicitationId: _id, task: _task, _meta: meta, ...rest } = params;
  const kept = keptMeta(meta);
  const all = kept === undefined ? rest : { ...rest, _meta: kept };
  return method === 'roots/list' && Object.keys(all).length === 0 ? { method } : { method, params: all };
}

function keptMeta(meta: unknown): Params | undefined {
  if (!isObject(meta)) return undefined;
  const { progressToken: _token, 'io.modelcontextprotocol/related-task': _task, ...rest } = meta;
  return Object.keys(rest).length === 0 ? undefined : rest;
}

/** `inputResponses` of a retry. Throws RpcError `invalidParams` unless it is an object of objects. */
export function readInputResponses(params: Params): Readonly<Record<string, Result>> {
  const { inputResponses = {} } = params;
  if (!isObject(inputResponses)) {
    throw new RpcError(errorCodes.invalidParams, 'Invalid params: inputResponses must be an object');
  }
  for (const [key, response] of Object.entries(inputResponses)) {
    if (isObject(response)) continue;
    throw new RpcError(
      errorCodes.invalidParams,
      `Invalid params: inputResponses[${JSON.stringify(key.slice(0, 128))}] must be an object`,
    );
  }
  return inputResponses as Record<string, Result>;
}

/** The elicitations of an error -32042; undefined when it names none. */
export function urlQuestions(error: RpcError): ReadonlyMap<string, Question> | undefined {
  const elicitations = isObject(error.data) ? error.data['elicitations'] : undefined;
  if (!Array.isArray(elicitations)) return undefined;
  const params = elicitations.filter(isObject);
  if (params.length === 0) return undefined;
  return new Map(
    params.map((one, index) => [`url-${index + 1}`, { method: 'elicitation/create', params: one }]),
  );
}

/** What stands for the answer of a client that gave none in time; undefined: only an error says it. */
export function answerOfNobody(method: string): Result | undefined {
  return method === 'elicitation/create' ? { action: 'cancel' } : undefined;
}
