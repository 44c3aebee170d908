import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { codeOf, messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { metaKeys, statelessRevisions } from '#mcp/eras.ts';
import { encodeHeaderValue, nameHeaderOf } from '#mcp/headers.ts';
import { createSseDecoder } from '#mcp/sse.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import type { Router } from './router.ts';
import { describeIssues } from './tool-arguments.ts';

export interface McpCall {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** Path at the router. Default `/mcp`: all agents. */
  readonly path?: string;
}

export interface McpClient {
  readonly router: Router;
  /** The result's members. Throws CliError with the server's message when the answer is an error. */
  call(call: McpCall): Promise<Record<string, unknown>>;
}

export interface McpClientOptions {
  readonly router: Router;
  readonly version: string;
  readonly signal: AbortSignal;
  /** Progress that the server tells while it works. */
  readonly onProgress?: (message: string) => void;
  /** Default 10 minutes. */
  readonly timeoutMs?: number;
}

const revision = statelessRevisions[0] ?? '';

/** MCP over Streamable HTTP, revision 2026-07-28: each call is one request that stands alone. */
export function createMcpClient(options: McpClientOptions): McpClient {
  let id = 0;
  return {
    router: options.router,
    async call({ method, params = {}, path = '/mcp' }) {
      const meta = {
        [metaKeys.protocolVersion]: revision,
        [metaKeys.clientCapabilities]: {},
        [metaKeys.clientInfo]: { name: 'ploinky-cli', version: options.version },
        progressToken: ++id,
      };
      const message = { jsonrpc: '2.0' as const, id, method, params: { ...params, _meta: meta } };
      const answer = post(path, message, options).then((response) => readAnswer(response, id, options));
      return resultOf(
        await answer.catch((error: unknown) => {
          throw lost(error, options);
        }),
      );
    },
  };
}

/** A connection that failed, with where it went. What was aborted stays as it is. */
function lost(error: unknown, { router, signal }: McpClientOptions): unknown {
  if (error instanceof CliError || signal.aborted) return error;
  const code = codeOf(error) === 'ECONNREFUSED' ? exitCodes.notRunning : exitCodes.failed;
  const why = router.trouble?.() ?? messageOf(error);
  return new CliError(code, `the router at ${router.url} cannot be reached, or gave up: ${why}`);
}

function post(
  path: string,
  message: { method: string; params: Record<string, unknown> },
  options: McpClientOptions,
): Promise<IncomingMessage> {
  const body = JSON.stringify(message);
  const name = nameHeaderOf(message);
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs ?? 600_000)]);
  return new Promise((resolve, reject) => {
    const send = options.router.url.startsWith('https:') ? httpsRequest : httpRequest;
    const call = send(`${options.router.url}${path}`, {
      method: 'POST',
      agent: false,
      signal,
      headers: {
        ...(options.router.host === undefined ? {} : { host: options.router.host }),
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': revision,
        'mcp-method': message.method,
        ...(name === undefined ? {} : { 'mcp-name': encodeHeaderValue(name) }),
      },
    });
    call.once('response', resolve);
    call.once('error', reject);
    call.end(body);
  });
}

/** The JSON-RPC answer to request `id`, sent as JSON or as an event of a stream. */
async function readAnswer(
  response: IncomingMessage,
  id: number,
  { onProgress }: McpClientOptions,
): Promise<Record<string, unknown>> {
  if (!response.headers['content-type']?.startsWith('text/event-stream')) {
    return parseAnswer(await text(response), response.statusCode);
  }
  const decoder = createSseDecoder();
  for await (const chunk of response) {
    for (const { data } of decoder.push(chunk as Buffer)) {
      const message = parseAnswer(data, response.statusCode);
      if (message['id'] === id) return message;
      const progress = isObject(message['params']) ? message['params']['message'] : undefined;
      if (typeof progress === 'string') onProgress?.(progress);
    }
  }
  throw new CliError(exitCodes.failed, 'the router ended the stream before the answer came');
}

function parseAnswer(body: string, status: number | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    if (isObject(value)) return value;
  } catch {
    // Not JSON: told below with the status.
  }
  const code = status === 404 ? exitCodes.notFound : exitCodes.failed;
  throw new CliError(code, `the router answered ${status} ${body.slice(0, 200)}`);
}

function resultOf(answer: Record<string, unknown>): Record<string, unknown> {
  if (isObject(answer['result'])) return answer['result'];
  const error = isObject(answer['error']) ? answer['error']['message'] : answer['error'];
  throw new CliError(
    exitCodes.failed,
    typeof error === 'string' ? describeIssues(error) : 'the router gave no result',
  );
}
