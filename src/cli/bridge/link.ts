import { Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import { acceptBoth, sendToRouter } from '../mcp-http.ts';
import type { Router } from '../router.ts';

export interface LinkOptions {
  readonly router: Router;
  /** Of the MCP endpoint at the router. */
  readonly path: string;
  readonly clock: Clock;
  /** How long a router that refuses connections is tried. Milliseconds. */
  readonly connectTimeoutMs: number;
}

export interface Sent {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Whether doing it twice does no harm, so that a connection that broke at once may be replaced. */
  readonly repeatable?: boolean;
}

/** The way to one MCP endpoint, over connections that are kept. */
export interface Link {
  /** Resolves with the head of the answer. While nobody listens there, it waits and looks where the router is now. */
  send(sent: Sent): Promise<IncomingMessage>;
  /** What to say of an error of `send`. */
  explain(error: unknown): string;
  close(): void;
}

export function createLink({ router, path, clock, connectTimeoutMs }: LinkOptions): Link {
  let url = router.url;
  const agent = url.startsWith('https:')
    ? new HttpsAgent({ keepAlive: true })
    : new HttpAgent({ keepAlive: true });
  const once = ({ repeatable: _, ...sent }: Sent) =>
    sendToRouter({
      ...sent,
      router: { ...router, url },
      path,
      agent,
      headers: { accept: acceptBoth, ...sent.headers },
    });
  return {
    async send(sent) {
      const deadline = clock.monotonic() + connectTimeoutMs;
      for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
        try {
          return await once(sent);
        } catch (error) {
          const again = wasRefused(error) || (sent.repeatable === true && codeOf(error) === 'ECONNRESET');
          if (!again || sent.signal.aborted || clock.monotonic() + pauseMs > deadline) throw error;
        }
        await clock.sleep(pauseMs, sent.signal);
        url = (await router.relocate?.().catch(() => undefined)) ?? url;
      }
    },
    explain: (error) =>
      `the router at ${url} cannot be reached, or gave up: ${router.trouble?.() ?? messageOf(error)}`,
    close: () => agent.destroy(),
  };
}

/** Nothing was sent yet. */
function wasRefused(error: unknown): boolean {
  return ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'].includes(codeOf(error) ?? '');
}
