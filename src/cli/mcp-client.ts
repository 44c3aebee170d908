import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { metaKeys, statelessRevisions } from '#mcp/eras.ts';
import { encodeHeaderValue, nameHeaderOf, paramHeadersOf } from '#mcp/headers.ts';
import { errorCodes } from '#mcp/jsonrpc.ts';
import { createSseDecoder } from '#mcp/sse.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { acceptBoth, isEventStream, sendToRouter } from './mcp-http.ts';
import { notKnown } from './not-known.ts';
import type { Router } from './router.ts';
import { describeIssues } from './tool-arguments.ts';

type Members = Record<string, unknown>;

export interface McpCall {
  readonly method: string;
  readonly params?: Readonly<Members>;
  /** Path at the router. Default `/mcp`: all agents. */
  readonly path?: string;
  /** Of the tool that is called, for the headers that mirror arguments. */
  readonly inputSchema?: Readonly<Members>;
}

export interface McpClient {
  readonly router: Router;
  /** The result's members. Throws CliError with the server's message when the answer is an error. */
  call(call: McpCall): Promise<Members>;
}

/** What is heard while the server works. */
export interface McpListener {
  /** `{progress, total?, message?}`. */
  onProgress?(params: Members): void;
  /** `{level, logger?, data}`. */
  onLog?(params: Members): void;
}

export interface McpClientOptions {
  readonly router: Router;
  readonly version: string;
  readonly clock: Clock;
  /** Aborted: the call is cancelled at the server, which sees its stream closed. */
  readonly signal: AbortSignal;
  readonly listener?: McpListener;
  /** The least level of log messages that are wanted. Default: none are. */
  readonly logLevel?: string;
  /** Answers what the server asks, by key. Absent: the client declares that it can answer nothing. */
  readonly answer?: (inputRequests: Members) => Promise<Members>;
  /** Default 10 minutes, for each round. */
  readonly timeoutMs?: number;
}

const revision = statelessRevisions[0] ?? '';
/** How often a server may ask during one call. */
const maxRounds = 50;
const retryPauseMs = 500;

/**
 * MCP over Streamable HTTP, revision 2026-07-28: each call is one request that stands alone. When its answer is
 * questions (`input_required`), it is sent again with the answers.
 */
export function createMcpClient(options: McpClientOptions): McpClient {
  let id = 0;
  return {
    router: options.router,
    async call(call) {
      let params = { ...call.params };
      for (let round = 0; round < maxRounds; round++) {
        const result = await roundTrip({ ...call, params }, ++id, options);
        if (result['resultType'] !== 'input_required') return result;
        params = { ...call.params, ...(await answerRound(result, options)) };
      }
      throw new CliError(exitCodes.failed, `the server asked more than ${maxRounds} times`);
    },
  };
}

async function answerRound(result: Members, options: McpClientOptions): Promise<Members> {
  const { inputRequests, requestState } = result;
  const state = requestState === undefined ? {} : { requestState };
  if (!isObject(inputRequests)) {
    // Nothing is asked: the server only wants to be called again.
    await options.clock.sleep(retryPauseMs, options.signal);
    return state;
  }
  if (options.answer === undefined) throw nobodyToAsk();
  return { inputResponses: await options.answer(inputRequests), ...state };
}

export function nobodyToAsk(): CliError {
  return new CliError(
    exitCodes.failed,
    'the tool asks a question, and there is no terminal to ask it in',
    'Run this where standard input and standard error are a terminal, or call the tool so that it need not ask.',
  );
}

async function roundTrip(call: McpCall, id: number, options: McpClientOptions): Promise<Members> {
  const { method, params = {}, path = '/mcp' } = call;
  const message = { jsonrpc: '2.0' as const, id, method, params: { ...params, _meta: metaOf(id, options) } };
  const name = nameHeaderOf(message);
  const answer = sendToRouter({
    router: options.router,
    method: 'POST',
    path,
    body: JSON.stringify(message),
    signal: AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs ?? 600_000)]),
    headers: {
      accept: acceptBoth,
      'mcp-protocol-version': revision,
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': encodeHeaderValue(name) }),
      ...(call.inputSchema === undefined ? {} : paramHeadersOf(call.inputSchema, params['arguments'])),
    },
  }).then((response) => readAnswer(response, id, options));
  return resultOf(
    await answer.catch((error: unknown) => {
      throw lost(error, options);
    }),
  );
}

function metaOf(id: number, { version, logLevel, answer }: McpClientOptions): Members {
  return {
    [metaKeys.protocolVersion]: revision,
    [metaKeys.clientCapabilities]: answer === undefined ? {} : { elicitation: { form: {}, url: {} } },
    [metaKeys.clientInfo]: { name: 'ploinky-cli', version },
    ...(logLevel === undefined ? {} : { [metaKeys.logLevel]: logLevel }),
    progressToken: id,
  };
}

/** A connection that failed, with where it went. What was aborted stays as it is. */
function lost(error: unknown, { router, signal }: McpClientOptions): unknown {
  if (error instanceof CliError || signal.aborted) return error;
  const code = codeOf(error) === 'ECONNREFUSED' ? exitCodes.notRunning : exitCodes.failed;
  const why = router.trouble?.() ?? messageOf(error);
  return new CliError(code, `the router at ${router.url} cannot be reached, or gave up: ${why}`);
}

/** The JSON-RPC answer to request `id`, sent as JSON or as an event of a stream. */
async function readAnswer(
  response: IncomingMessage,
  id: number,
  { router, listener = {} }: McpClientOptions,
): Promise<Members> {
  if (response.statusCode === 401) {
    throw notKnown(router, await text(response));
  }
  if (!isEventStream(response)) return parseAnswer(await text(response), response.statusCode);
  const decoder = createSseDecoder();
  for await (const chunk of response) {
    for (const { data } of decoder.push(chunk as Buffer)) {
      if (data === '') continue;
      const message = parseAnswer(data, response.statusCode);
      if (message['id'] === id) return message;
      hear(message, listener);
    }
  }
  throw new CliError(exitCodes.failed, 'the router ended the stream before the answer came');
}

function hear({ method, params }: Members, listener: McpListener): void {
  if (!isObject(params)) return;
  if (method === 'notifications/progress') listener.onProgress?.(params);
  if (method === 'notifications/message') listener.onLog?.(params);
}

function parseAnswer(body: string, status: number | undefined): Members {
  try {
    const value: unknown = JSON.parse(body);
    if (isObject(value)) return value;
  } catch {
    // Not JSON: told below with the status.
  }
  const code = status === 404 ? exitCodes.notFound : exitCodes.failed;
  throw new CliError(code, `the router answered ${status} ${body.slice(0, 200)}`);
}

function resultOf(answer: Members): Members {
  if (isObject(answer['result'])) return answer['result'];
  const { code, message, data } = isObject(answer['error']) ? answer['error'] : {};
  if (code === errorCodes.missingCapability && wantsElicitation(data)) throw nobodyToAsk();
  throw new CliError(
    exitCodes.failed,
    typeof message === 'string' ? describeIssues(message) : 'the router gave no result',
  );
}

function wantsElicitation(data: unknown): boolean {
  const needed = isObject(data) ? data['requiredCapabilities'] : undefined;
  return isObject(needed) && 'elicitation' in needed;
}
