import type { JsonRpcNotification, Params } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { CallContext } from '../source.ts';

/** What one request to an upstream may come with. */
export interface UpstreamCall {
  readonly signal: AbortSignal;
  /** Milliseconds until the upstream counts as hung. */
  readonly timeoutMs: number;
  /** The client's call behind it; undefined for requests of our own. */
  readonly context: CallContext | undefined;
}

/** A connection to an MCP server after its handshake. */
export interface UpstreamConnection {
  readonly info: UpstreamInfo;
  /**
   * Throws RpcError for the upstream's own error, AgentServerError UpstreamLost when the connection ended
   * meanwhile, UpstreamTimeout and UpstreamInvalid. An abort tells the upstream and rejects at once.
   */
  request(method: string, params: Params, call: UpstreamCall): Promise<Result>;
  /** Resolves with the reason, once, when the connection can serve no more. */
  readonly closed: Promise<string>;
  /**
   * To a server of 2026-07-28: tells changes of this resource from now on. Throws RpcError `invalidParams` when it
   * does not want to.
   */
  subscribe(uri: string): Promise<void>;
  unsubscribe(uri: string): void;
  /**
   * `subscriptions/listen` of one client of 2026-07-28, with what it declares: resolves when the server ends it,
   * rejects with its error or on abort. Undefined where there is none.
   */
  readonly listen?: ListenFor;
  /** Its questions name no call, so that it runs one call at a time for a client that can be asked. */
  readonly oneByOne?: boolean;
  /** Finds out whether the server has another era too, where that was not found out yet. */
  findEras?(): Promise<void>;
  /** A client's session has ended, and what was opened for it alone can go. */
  endSession?(session: string): void;
  close(): Promise<void>;
}

export type ListenFor = (
  params: Params,
  context: CallContext,
  onNotification: (notification: JsonRpcNotification) => void,
  signal: AbortSignal,
) => Promise<unknown>;

export interface UpstreamInfo {
  /** As negotiated. */
  readonly revision: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly instructions: string | undefined;
  /** What the same server says to clients of 2026-07-28, when it serves these beside sessions. */
  readonly stateless?: UpstreamInfo | undefined;
}

export interface ConnectionEvents {
  /**
   * Notifications of the upstream, but for progress of a call. `session`: of the client in whose own upstream session
   * it came; undefined: in the shared one.
   */
  onNotification(notification: JsonRpcNotification, session?: string): void;
}

/** What an upstream tells in the upstream session of one client. */
export function eventsOf(session: string, { onNotification }: ConnectionEvents): ConnectionEvents {
  return { onNotification: (notification) => onNotification(notification, session) };
}

/** Opens a connection and does the handshake. Rejects when there is nobody, or nobody who speaks MCP. */
export type OpenConnection = (events: ConnectionEvents, signal: AbortSignal) => Promise<UpstreamConnection>;

/** How the agent-server introduces itself. It declares no capabilities: a shared upstream can ask nobody. */
export const clientInfo = { name: 'ploinky-agent-server', version: '0.1.0' };
