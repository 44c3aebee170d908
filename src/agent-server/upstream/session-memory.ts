import type { Params } from '#mcp/jsonrpc.ts';
import { isLogLevel, type LogLevel, passesLevel } from '#mcp/types.ts';

/** What an upstream session was told and must be told again when it is opened anew. */
export interface SessionMemory {
  /** Resources that were subscribed to. */
  readonly uris: ReadonlySet<string>;
  /**
   * The level to set upstream before a call whose client wants logs from `wanted` on; undefined when the upstream
   * tells enough already. Calls share a session, so it never goes down, and never above `info`.
   */
  levelFor(wanted: string | undefined): LogLevel | undefined;
  /** A request that the upstream has answered. */
  note(method: string, params: Params): void;
  /** The requests that bring a new session to where the old one was. */
  replay(): { readonly method: string; readonly params: Params }[];
}

const usualLevel: LogLevel = 'info';

export function createSessionMemory(): SessionMemory {
  const uris = new Set<string>();
  let level: LogLevel | undefined;
  return {
    uris,
    levelFor(wanted) {
      if (wanted === undefined || wanted === level || !isLogLevel(wanted)) return undefined;
      const least = passesLevel(wanted, usualLevel) ? usualLevel : wanted;
      return level === undefined || !passesLevel(least, level) ? least : undefined;
    },
    note(method, params) {
      const { uri } = params;
      if (method === 'logging/setLevel' && isLogLevel(params['level'])) level = params['level'];
      else if (typeof uri !== 'string') return;
      else if (method === 'resources/subscribe') uris.add(uri);
      else if (method === 'resources/unsubscribe') uris.delete(uri);
    },
    replay() {
      const subscriptions = [...uris].map((uri) => ({ method: 'resources/subscribe', params: { uri } }));
      const levels = level === undefined ? [] : [{ method: 'logging/setLevel', params: { level } }];
      return [...levels, ...subscriptions];
    },
  };
}
