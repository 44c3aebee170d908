import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '#kit/json.ts';
import { latestSessionRevision, sessionRevisions } from '#mcp/eras.ts';
import { headerOf, readStandardHeaders } from '#mcp/headers.ts';
import { classifyInbound, type StatelessContext } from '#mcp/inbound.ts';
import { errorCodes, isRequest, type JsonRpcMessage, type JsonRpcRequest, RpcError } from '#mcp/jsonrpc.ts';
import type { ParsedBody } from '#mcp/parse.ts';
import type { McpContext } from '#wire/claims.ts';
import type { Caller } from '../caller.ts';
import type { Services } from '../services.ts';
import { contextOf, type Session } from './sessions.ts';

/** Who speaks to an MCP endpoint, in which era. */
export type Speaker =
  | { readonly era: 'sessions'; readonly session: Session | undefined; readonly caller: Caller }
  | { readonly era: 'stateless'; readonly context: StatelessContext; readonly caller: Caller };

/** Thrown for a session id that is not (or no longer) one: HTTP 404, and the client begins anew. */
export class SessionGone extends RpcError {
  constructor() {
    super(errorCodes.sessionNotFound, 'Session not found');
    this.name = 'SessionGone';
  }
}

export interface SpeakerOptions {
  readonly body: ParsedBody;
  readonly headers: IncomingHttpHeaders;
  /** Endpoint that a session must belong to. */
  readonly scope: string;
  readonly caller: Caller;
  /** A delegated call needs no session. */
  readonly delegated: boolean;
}

/**
 * Finds out era and session of a POST. In the sessions era everything but `initialize` needs a session.
 * Throws RpcError: what classifyInbound says, SessionGone, or `server` for a missing session.
 */
export function identifySpeaker(services: Services, options: SpeakerOptions): Speaker {
  const { body, headers, scope, caller } = options;
  for (const message of body.messages) checkLengths(message);
  const inbound = classifyInbound(body, readStandardHeaders(headers));
  if (inbound.era === 'stateless') return { era: 'stateless', context: inbound.context, caller };
  checkRevisionHeader(headers);
  const initializing = !body.batch && isInitialize(body.messages[0]);
  if (initializing || options.delegated) return { era: 'sessions', session: undefined, caller };
  return { era: 'sessions', session: requireSession(services, headers, scope, caller), caller };
}

/** The session of a request, which must have one. Throws RpcError. */
export function requireSession(
  services: Services,
  headers: IncomingHttpHeaders,
  scope: string,
  caller: Caller,
): Session {
  const id = headerOf(headers, 'mcp-session-id');
  if (id === undefined) throw new RpcError(errorCodes.server, 'Missing or invalid MCP session');
  const session = services.sessions.open(id, scope, caller);
  if (session === undefined) throw new SessionGone();
  return session;
}

export function isInitialize(message: JsonRpcMessage | undefined): message is JsonRpcRequest {
  return isRequest(message) && message.method === 'initialize';
}

/** What the agent-server is told about the speaker. Capabilities that would bloat the token stay in the body. */
export function wireContext(speaker: Speaker): McpContext {
  if (speaker.era === 'sessions') {
    return speaker.session === undefined ? { revision: latestSessionRevision } : contextOf(speaker.session);
  }
  const { revision, capabilities } = speaker.context;
  const small = JSON.stringify(capabilities).length <= 1024;
  return { revision, ...(small && { capabilities }) };
}

function checkRevisionHeader(headers: IncomingHttpHeaders): void {
  const version = headerOf(headers, 'mcp-protocol-version');
  if (version === undefined || sessionRevisions.includes(version)) return;
  throw new RpcError(errorCodes.invalidRequest, `Unsupported MCP-Protocol-Version: ${version.slice(0, 64)}`, {
    supported: [...sessionRevisions],
  });
}

/** Method and name travel in headers and tokens. */
function checkLengths(message: JsonRpcMessage): void {
  if (!('method' in message)) return;
  const name = isObject(message.params) ? message.params['name'] : undefined;
  if (message.method.length <= 128 && (typeof name !== 'string' || name.length <= 512)) return;
  throw new RpcError(errorCodes.invalidParams, 'Invalid params: method or name is too long');
}
