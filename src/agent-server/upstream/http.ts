import type { Clock } from '#kit/clock.ts';
import { loopbackConnections } from '../loopback.ts';
import type { OpenConnection } from './connection.ts';
import { HttpClient } from './http-client.ts';
import { createSessionClients } from './session-clients.ts';

export interface HttpUpstreamOptions {
  readonly port: number;
  readonly path: string;
  readonly clock: Clock;
  /** Milliseconds for the handshake. */
  readonly startMs: number;
  readonly maxMessageBytes: number;
}

/**
 * The agent's own MCP server on 127.0.0.1, of either era, with or without sessions. A call's server messages
 * come on its own answer, so that they can be told apart.
 */
export function httpConnector(options: HttpUpstreamOptions): OpenConnection {
  return async (events, signal) => {
    const agent = loopbackConnections();
    const target = {
      agent,
      port: options.port,
      path: options.path,
      maxMessageBytes: options.maxMessageBytes,
    };
    const { clock, startMs } = options;
    const client = new HttpClient({ target, events, clock });
    const onLost = (reason: string) => client.markClosed(reason);
    const clients = createSessionClients({ target, events, clock, startMs, onLost });
    const stop = new AbortController();
    const open = () => client.open({ signal, timeoutMs: startMs, context: undefined });
    await open();
    // What is lost takes every client's session with it; the next connection begins anew.
    void client.closed.then(() => clients.close());
    void client.listen(AbortSignal.any([signal, stop.signal]));
    return {
      get info() {
        return client.info;
      },
      closed: client.closed,
      request: (method, params, call) =>
        clients.request(method, params, call) ?? client.request(method, params, call, open),
      endSession: clients.end,
      async close() {
        stop.abort();
        await Promise.all([client.end(), clients.close()]);
        agent.destroy();
      },
    };
  };
}
