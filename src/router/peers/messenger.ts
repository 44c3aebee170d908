import { Agent } from 'undici';
import type { Clock } from '#kit/clock.ts';
import { CodedError } from '#kit/errors.ts';

/** Sends messages to other routers over kept-alive connections, a pool each. */
export interface Messenger {
  /** The answer's body. Throws PeerSilent (not in time), PeerRefused (not 2xx), or what the connection throws. */
  post(address: string, path: string, message: string, timeoutMs: number): Promise<string>;
  close(): Promise<void>;
}

/** More sessions may end at once than one connection carries. */
const connections = 16;
const longestAnswer = 16 * 1024 * 1024;

export function createMessenger(
  clock: Pick<Clock, 'after'>,
  { connectTimeoutMs }: { readonly connectTimeoutMs: number },
): Messenger {
  const connect = { timeout: connectTimeoutMs };
  const agent = new Agent({ connections, pipelining: 1, maxResponseSize: longestAnswer, connect });
  return {
    async post(address, path, message, timeoutMs) {
      const late = new AbortController();
      const silent = new CodedError('PeerSilent', `a router did not answer within ${timeoutMs} ms`);
      const cancel = clock.after(timeoutMs, () => late.abort(silent));
      try {
        const { statusCode, body } = await agent.request({
          origin: `http://${address}`,
          path,
          method: 'POST',
          headers: { 'content-type': 'text/plain' },
          body: message,
          signal: late.signal,
        });
        const text = await body.text();
        if (statusCode >= 200 && statusCode < 300) return text;
        throw new CodedError('PeerRefused', `a router answered ${statusCode}`);
      } finally {
        cancel();
      }
    },
    close: () => agent.destroy(),
  };
}
