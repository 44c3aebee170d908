import type { Era } from '#mcp/eras.ts';
import type { HeaderValues } from '#mcp/headers.ts';
import type { Params, RequestId } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { SessionTasks } from '#mcp/tasks/capabilities.ts';
import type { LogLevel, Prompt, Resource, ResourceTemplate, Tool } from '#mcp/types.ts';
import type { InvocationClaims } from '#wire/claims.ts';

/** Where tools, resources and prompts come from: commands of a configuration, or an MCP server upstream. */
export interface Source {
  /** As last read; empty until `status.ready`. */
  readonly catalog: Catalog;
  readonly status: SourceStatus;
  /** Resolves when the source has become ready or failed for the first time. */
  readonly settled: Promise<void>;
  onChange(listener: (change: SourceChange) => void): () => void;
  /**
   * Serves tools/call, resources/read, prompts/get, completion/complete, resources/(un)subscribe, and the
   * methods of tasks if the catalog has them.
   * Resolves to an MCP result; throws RpcError for a JSON-RPC error. Rejects soon after `signal` aborts.
   */
  request(method: string, params: Params, call: CallContext): Promise<Result>;
  /**
   * Tells `resource` changes of these from now on, for a client without a session; `uris` are those that it can.
   * Undefined: the source has no resource subscriptions.
   */
  watch?(
    uris: readonly string[],
    call: CallContext,
  ): Promise<{ readonly uris: readonly string[]; end(): void }>;
  /** Tells `tell` how these tasks go on, for a client of 2026-07-28; `ids` are those that it can. As `watch`. */
  watchTasks?(
    ids: readonly string[],
    call: CallContext,
    tell: (task: Params) => void,
  ): Promise<{ readonly ids: readonly string[]; end(): void }>;
  /** A session of CallContext has ended. */
  endSession?(session: string): void;
  close(): Promise<void>;
}

export interface Catalog {
  readonly tools: readonly Tool[];
  readonly resources: readonly Resource[];
  readonly resourceTemplates: readonly ResourceTemplate[];
  readonly prompts: readonly Prompt[];
  readonly completions: boolean;
  /** resources/subscribe is served. */
  readonly subscriptions: boolean;
  readonly instructions: string | undefined;
  /** Extensions of 2026-07-28 whose methods are passed on, with what the source says of them. */
  readonly extensions: Readonly<Record<string, unknown>>;
  /** Calls of tools may be tasks of 2025-11-25. */
  readonly tasks?: SessionTasks | undefined;
}

export interface SourceStatus {
  readonly ready: boolean;
  /** A constant for machines: Ready, Starting, ConfigInvalid, UpstreamNotReady, UpstreamNotAllowed, UpstreamUnauthorized. */
  readonly reason: string;
  readonly message: string;
}

export type SourceChange =
  | { readonly type: 'catalog' }
  | { readonly type: 'status' }
  | { readonly type: 'resource'; readonly uri: string }
  /** A task of 2025-11-25 that this session began is in another state. */
  | { readonly type: 'task'; readonly session: string; readonly params: Params };

/** What a source may know about one request and whom it can tell things to meanwhile. */
export interface CallContext {
  readonly era: Era;
  readonly revision: string;
  /** Key of the MCP session, undefined for a stateless request. */
  readonly session: string | undefined;
  readonly requestId: RequestId;
  readonly headers: HeaderValues;
  readonly claims: InvocationClaims | undefined;
  readonly token: string | undefined;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  /** Sent only when the client asked for progress. */
  readonly onProgress: ((progress: Progress) => void) | undefined;
  /** The server ended its stream early and will be asked for the rest; undefined for clients that cannot do the same. */
  readonly onPause?: ((retryMs: number | undefined) => void) | undefined;
  /**
   * Asks the client while the call runs; undefined where it cannot be asked. What it can answer, its
   * capabilities say. Rejects with RpcError, or the signal's reason.
   */
  readonly ask?: ((method: string, params: Params, signal: AbortSignal) => Promise<Result>) | undefined;
  /** Least level of logs that the client wants, where it said one. */
  readonly logLevel: string | undefined;
  /** Dropped when the client wants no logs of this level. */
  readonly onLog: (level: LogLevel, data: unknown, logger?: string) => void;
  /** The server's id of the task whose result is waited for (2025): what the task asks is asked here. */
  readonly task?: string;
  /** A call that becomes a task of 2026-07-28 is waited for. */
  readonly awaitsTasks?: boolean;
  /** The upstream session is shared with callers who cannot be told from this one. */
  readonly anonymous?: boolean;
  /** It has its place among the executions already. */
  readonly admitted?: boolean;
  /** Milliseconds that a request of it may take at an MCP server. Default: `upstreamTimeoutMs` of the settings. */
  readonly timeoutMs?: number | undefined;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export const emptyCatalog: Catalog = {
  tools: [],
  resources: [],
  resourceTemplates: [],
  prompts: [],
  completions: false,
  subscriptions: false,
  instructions: undefined,
  extensions: {},
};
