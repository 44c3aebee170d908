import { text } from 'node:stream/consumers';
import { isObject } from '#kit/json.ts';
import { latestSessionRevision } from '#mcp/eras.ts';
import type { JsonRpcNotification, JsonRpcRequest } from '#mcp/jsonrpc.ts';
import { createSseDecoder } from '#mcp/sse.ts';
import { isEventStream } from '../mcp-http.ts';
import type { Link } from './link.ts';
import { readIncoming } from './message.ts';

/** A session of the router, as it is now; another one may take its place unseen by the client. */
export interface SessionInfo {
  readonly id: string | undefined;
  readonly revision: string;
}

/** Keeps the client's session with the router, and makes it anew when the router does not know it any more. */
export interface SessionKeeper {
  readonly current: SessionInfo | undefined;
  /** The client's own `initialize` was answered. */
  begin(initialize: string, info: SessionInfo): void;
  /** Whatever the client set up in its session, to set it up again in another: subscriptions and the log level. */
  remember(message: JsonRpcRequest | JsonRpcNotification, body: string): void;
  headers(): Record<string, string>;
  /** Opens another session instead of `lost`, once for all who ask. Rejects when the router opens none. */
  renew(lost: SessionInfo): Promise<void>;
  /** Tells the router that it is not needed any more; at most for `timeoutMs`. */
  end(timeoutMs: number): Promise<void>;
}

export function createSessionKeeper(link: Link, signal: AbortSignal): SessionKeeper {
  let current: SessionInfo | undefined;
  let initialize = '';
  let renewing: Promise<void> | undefined;
  let renewals = 0;
  const setUp = new Map<string, string>();
  const headersOf = (info: SessionInfo | undefined) => ({
    ...(info?.id !== undefined && { 'mcp-session-id': info.id }),
    ...(info !== undefined && { 'mcp-protocol-version': info.revision }),
  });
  const post = async (body: string, headers: Record<string, string> = headersOf(current)) =>
    link.send({ method: 'POST', body, headers, signal, repeatable: true });

  async function open(): Promise<void> {
    const response = await post(withId(initialize, `ploinky-renewal-${++renewals}`), {});
    const answer = await readAnswer(response);
    if (!isObject(answer?.['result'])) throw new Error('the router opened no new session');
    current = { id: headerOf(response.headers['mcp-session-id']), revision: revisionOf(answer['result']) };
    const ready = await post('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    ready.resume();
    for (const [key, body] of setUp) {
      await readAnswer(await post(withId(body, `ploinky-renewal-${renewals}-${key}`)));
    }
  }

  return {
    get current() {
      return current;
    },
    begin(body, info) {
      initialize = body;
      current = info;
      setUp.clear();
    },
    remember({ method, params }, body) {
      const uri = String(params?.['uri']);
      if (method === 'logging/setLevel') setUp.set('level', body);
      if (method === 'resources/subscribe') setUp.set(`uri ${uri}`, body);
      if (method === 'resources/unsubscribe') setUp.delete(`uri ${uri}`);
    },
    headers: () => headersOf(current),
    async renew(lost) {
      if (current !== lost && current !== undefined) return;
      renewing ??= open().finally(() => {
        renewing = undefined;
      });
      await renewing;
    },
    async end(timeoutMs) {
      if (current?.id === undefined) return;
      const within = AbortSignal.timeout(timeoutMs);
      const headers = headersOf(current);
      const response = await link.send({ method: 'DELETE', headers, signal: within }).catch(() => undefined);
      response?.resume();
    },
  };
}

export function revisionOf(result: Record<string, unknown>): string {
  const { protocolVersion } = result;
  return typeof protocolVersion === 'string' ? protocolVersion : latestSessionRevision;
}

export function headerOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function withId(body: string, id: string): string {
  return JSON.stringify({ ...(JSON.parse(body) as object), id });
}

/** The first message with a result or an error. */
async function readAnswer(
  response: Awaited<ReturnType<Link['send']>>,
): Promise<Record<string, unknown> | undefined> {
  if (!isEventStream(response)) return readIncoming(await text(response))?.message;
  const decoder = createSseDecoder();
  for await (const chunk of response) {
    for (const { data } of decoder.push(chunk as Buffer)) {
      const message = readIncoming(data)?.message;
      if (message !== undefined && ('result' in message || 'error' in message)) return message;
    }
  }
  return undefined;
}
