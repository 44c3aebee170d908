import { isObject } from '#kit/json.ts';
import { eraOf, metaKeys, statelessRevisions } from './eras.ts';
import { checkStandardHeaders, type StandardHeaders } from './headers.ts';
import { errorCodes, isRequest, type JsonRpcNotification, type JsonRpcRequest, RpcError } from './jsonrpc.ts';
import type { ParsedBody } from './parse.ts';

/** What a stateless request says about its sender in `_meta`. */
export interface StatelessContext {
  readonly revision: string;
  readonly capabilities: Record<string, unknown>;
  readonly client: Record<string, unknown> | undefined;
  /** Without one no `notifications/message` may be sent for this request. */
  readonly logLevel: string | undefined;
}

export type Inbound =
  | { readonly era: 'sessions' }
  | {
      readonly era: 'stateless';
      readonly message: JsonRpcRequest | JsonRpcNotification;
      readonly context: StatelessContext;
    };

/**
 * Tells which era the body of a POST belongs to and checks what 2026-07-28 demands of a request before
 * its method is looked at. The body decides; headers are compared with it.
 * Throws RpcError for HTTP 400: `headerMismatch`, then `unsupportedVersion` (data `{supported, requested}`),
 * and `invalidParams` for a missing or malformed `_meta`.
 * Does NOT check that the method exists, the client's capabilities or `Mcp-Param-*` headers.
 */
export function classifyInbound(body: ParsedBody, headers: StandardHeaders): Inbound {
  const claimed = body.messages.some(
    (message) => 'method' in message && claimOf(message.params) !== undefined,
  );
  const [first] = body.messages;
  const headerIsStateless = headers.version !== undefined && eraOf(headers.version) === 'stateless';
  if (!claimed && !headerIsStateless) return { era: 'sessions' };
  if (body.batch) throw new RpcError(errorCodes.invalidRequest, 'Invalid Request: 2026-07-28 has no batches');
  if (first === undefined || !('method' in first)) {
    throw new RpcError(
      errorCodes.invalidRequest,
      'Invalid Request: 2026-07-28 takes no responses from clients',
    );
  }
  return isRequest(first) ? classifyRequest(first, headers) : classifyNotification(first, headers);
}

/** The claimed revision when `_meta` is there at all and names one, whatever its type. */
function claimOf(params: unknown): unknown {
  if (!isObject(params) || !isObject(params['_meta'])) return undefined;
  return params['_meta'][metaKeys.protocolVersion];
}

function classifyRequest(message: JsonRpcRequest, headers: StandardHeaders): Inbound {
  const context = readContext(message.params);
  checkStandardHeaders(message, context.revision, headers);
  checkRevision(context.revision);
  return { era: 'stateless', message, context };
}

/** Notifications carry no envelope of their own; the header alone may name the revision. */
function classifyNotification(message: JsonRpcNotification, headers: StandardHeaders): Inbound {
  const claim = claimOf(message.params);
  const revision = typeof claim === 'string' ? claim : (headers.version ?? '');
  if (headers.version !== undefined && headers.version !== revision) {
    throw new RpcError(
      errorCodes.headerMismatch,
      'MCP-Protocol-Version and the body name different revisions',
    );
  }
  if (headers.method !== undefined && headers.method !== message.method) {
    throw new RpcError(
      errorCodes.headerMismatch,
      `Mcp-Method names ${headers.method}, the body ${message.method}`,
    );
  }
  checkRevision(revision);
  const context = { revision, capabilities: {}, client: undefined, logLevel: undefined };
  return { era: 'stateless', message, context };
}

function checkRevision(requested: string): void {
  if (statelessRevisions.includes(requested)) return;
  throw new RpcError(errorCodes.unsupportedVersion, `Unsupported protocol version: ${requested}`, {
    supported: [...statelessRevisions],
    requested,
  });
}

function readContext(params: unknown): StatelessContext {
  const meta = isObject(params) && isObject(params['_meta']) ? params['_meta'] : {};
  const revision = meta[metaKeys.protocolVersion];
  const capabilities = meta[metaKeys.clientCapabilities];
  if (typeof revision !== 'string') throw badMeta(metaKeys.protocolVersion, 'a revision, such as 2026-07-28');
  if (!isObject(capabilities)) throw badMeta(metaKeys.clientCapabilities, 'an object, {} for none');
  const client = meta[metaKeys.clientInfo];
  if (client !== undefined && !isObject(client)) throw badMeta(metaKeys.clientInfo, 'an object');
  const logLevel = meta[metaKeys.logLevel];
  if (logLevel !== undefined && typeof logLevel !== 'string') throw badMeta(metaKeys.logLevel, 'a log level');
  return { revision, capabilities, client, logLevel };
}

function badMeta(key: string, expected: string): RpcError {
  return new RpcError(errorCodes.invalidParams, `Invalid params: _meta["${key}"] must be ${expected}`, {
    envelope: { key },
  });
}
