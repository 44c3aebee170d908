import { isObject } from '#kit/json.ts';
import { RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { isLogLevel } from '#mcp/types.ts';
import type { GivenFile } from '../blobs/publish.ts';
import type { CallContext } from '../source.ts';

/** What a tool said on fd 3 that decides its result; the last word counts. */
export interface ToolVerdict {
  readonly error?: RpcError;
  /** A whole MCP result in place of stdout. */
  readonly result?: Result;
  /** Questions to the client; answered, the tool runs again with `metadata.inputResponses`. */
  readonly question?: Result;
}

/**
 * Reads one line of fd 3 and passes progress and logs on. Lines are JSON objects with one of
 * - `progress` (number), with `total` and `message`;
 * - `log`: `{level, data, logger}`;
 * - `inputRequests` (as MCP's, by key) with `requestState` (text), for clients of 2026-07-28;
 * - `jsonrpcError`: `{code, message, data}`: the call ends with this error;
 * - `result`: a whole MCP result (images, structured content, …).
 * - `blob`: `{path, name, type, ttl}`: a file below the workspace that the client gets a link to, see readGivenFile.
 * Anything else is ignored.
 */
export function readToolEvent(line: Buffer, call: CallContext): ToolVerdict | undefined {
  const event = parseLine(line);
  if (typeof event['progress'] === 'number') {
    const { progress, total, message } = event;
    call.onProgress?.({
      progress,
      ...(typeof total === 'number' && { total }),
      ...(typeof message === 'string' && { message }),
    });
  } else if (isObject(event['log'])) {
    const { level, data, logger } = event['log'];
    if (isLogLevel(level)) call.onLog(level, data ?? null, typeof logger === 'string' ? logger : undefined);
  } else if (isObject(event['jsonrpcError'])) return { error: readError(event['jsonrpcError']) };
  else if (isObject(event['result'])) return { result: event['result'] };
  else if (isObject(event['inputRequests'])) return { question: readQuestion(event) };
  return undefined;
}

/** A file that the tool gives its client, where the line says so. */
export function readGivenFile(line: Buffer): GivenFile | undefined {
  if (!line.includes('"blob"')) return undefined;
  const { blob } = parseLine(line);
  if (!isObject(blob) || typeof blob['path'] !== 'string') return undefined;
  const { path, name, type, ttl } = blob;
  return {
    path,
    name: typeof name === 'string' ? name : undefined,
    type: typeof type === 'string' ? type : undefined,
    ttl: isSeconds(ttl) ? ttl : undefined,
  };
}

/** As many digits as an upload may say. */
function isSeconds(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 999_999_999;
}

function readQuestion(event: Record<string, unknown>): Result {
  return {
    resultType: 'input_required',
    inputRequests: event['inputRequests'],
    ...(typeof event['requestState'] === 'string' && { requestState: event['requestState'] }),
  };
}

function readError(error: Record<string, unknown>): RpcError {
  const code = Number.isSafeInteger(error['code']) ? Number(error['code']) : -32603;
  return new RpcError(code, String(error['message'] ?? 'The tool failed'), error['data']);
}

function parseLine(line: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
