/**
 * MCP's protocol revisions fall into two eras. Revisions are dates, so strings compare in order of time.
 * - sessions (before 2026-07-28): `initialize`, `Mcp-Session-Id`, server requests on streams;
 * - stateless (from 2026-07-28): every request carries its revision and the client's capabilities in `_meta`.
 */
export type Era = 'sessions' | 'stateless';

export const firstStatelessRevision = '2026-07-28';
/** Newest first. What `initialize` can settle on. */
export const sessionRevisions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26'];
/** Newest first. What a `_meta` may name; the `supportedVersions` of server/discover. */
export const statelessRevisions: readonly string[] = ['2026-07-28'];
export const latestSessionRevision = '2025-11-25';
/** What a request of the sessions era without an MCP-Protocol-Version header speaks, by the specification. */
export const assumedSessionRevision = '2025-03-26';

/** Reserved keys of `params._meta` and of a result's `_meta`. */
export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

/** The extension of 2026-07-28 by which a call may become a task (SEP-2663), and its methods. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';
export const taskMethods: ReadonlySet<string> = new Set(['tasks/get', 'tasks/update', 'tasks/cancel']);

export function eraOf(revision: string): Era {
  return revision >= firstStatelessRevision ? 'stateless' : 'sessions';
}

/** The revision to answer `initialize` with: the one asked for when it is known, else the latest of its era. */
export function negotiateSessionRevision(requested: unknown): string {
  return typeof requested === 'string' && sessionRevisions.includes(requested)
    ? requested
    : latestSessionRevision;
}
