import type { IncomingMessage } from 'node:http';
import { isObject } from '#kit/json.ts';
import { metaKeys } from '#mcp/eras.ts';
import type { StatelessContext } from '#mcp/inbound.ts';
import { type JsonRpcRequest, notificationOf } from '#mcp/jsonrpc.ts';
import { isLogLevel, type LogLevel, passesLevel } from '#mcp/types.ts';
import type { Exchange } from '../http/exchange.ts';
import type { CallContext, Progress } from '../source.ts';
import type { Caller } from './guard.ts';
import { askClient } from './questions.ts';
import { primes, type Session } from './session.ts';

/** What is known of a request of either era before it goes to the source. */
export interface Origin {
  readonly request: IncomingMessage;
  readonly exchange: Exchange;
  readonly caller: Caller;
  /** Undefined for the stateless era, and for a router that names no session. */
  readonly session: Session | undefined;
  /** Undefined for the sessions era. */
  readonly stateless: StatelessContext | undefined;
  /** One of several in one body, which are answered together. */
  readonly batch?: boolean;
}

const assumedLevel: LogLevel = 'info';

export function callContext(message: JsonRpcRequest, origin: Origin, signal: AbortSignal): CallContext {
  const { session, stateless, caller, exchange, request } = origin;
  const minimum = stateless === undefined ? (session?.logLevel ?? assumedLevel) : stateless.logLevel;
  return {
    era: stateless === undefined ? 'sessions' : 'stateless',
    revision: stateless?.revision ?? session?.revision ?? caller.claims?.mcp?.revision ?? '2025-03-26',
    session: session?.id,
    requestId: message.id,
    headers: request.headers,
    claims: caller.claims,
    token: caller.token,
    capabilities: stateless?.capabilities ?? session?.capabilities ?? {},
    signal,
    onProgress: progressSender(message, exchange),
    onPause: session !== undefined && primes(session) ? (retryMs) => exchange.pause(retryMs) : undefined,
    logLevel: stateless?.logLevel ?? session?.logLevel,
    ask:
      session === undefined
        ? undefined
        : (method, params, stopped) => askClient(session, exchange, { method, params }, stopped),
    onLog(level, data, logger) {
      if (!isLogLevel(minimum) || !passesLevel(level, minimum)) return;
      exchange.notify(
        notificationOf('notifications/message', { level, ...(logger !== undefined && { logger }), data }),
      );
    },
  };
}

function progressSender(
  message: JsonRpcRequest,
  exchange: Exchange,
): ((progress: Progress) => void) | undefined {
  const meta = message.params?.['_meta'];
  const token = isObject(meta) ? meta['progressToken'] : undefined;
  if (typeof token !== 'string' && typeof token !== 'number') return undefined;
  return (progress) => {
    exchange.notify(notificationOf('notifications/progress', { progressToken: token, ...progress }));
  };
}

/** `_meta` without the envelope and the progress token, which belong to this hop alone. */
export function forwardedMeta(params: Record<string, unknown>): Record<string, unknown> {
  const meta = isObject(params['_meta']) ? params['_meta'] : {};
  const own = new Set<string>([...Object.values(metaKeys), 'progressToken']);
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !own.has(key)));
}
