import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { CodedError, codeOf } from '#kit/errors.ts';
import { workspaceErrors } from './errors.ts';

export interface PortOptions {
  /** Asked for by number: taken means refused. Undefined: the first free one from `from` on. */
  readonly port?: number | undefined;
  /** Default 8080. */
  readonly from?: number;
  /** How many ports to try. Default 100. */
  readonly tries?: number;
}

/** Many, because while a dead router is replaced every new connection waits here. The kernel caps it. */
const backlog = 4096;

/**
 * A socket that listens on 127.0.0.1, made to be handed to another process: hand it on and close it before
 * the event loop turns, else this process accepts connections that it does not serve.
 */
export async function listenOnLoopback(options: PortOptions): Promise<{ server: Server; port: number }> {
  const first = options.port ?? options.from ?? 8080;
  const tries = options.port === undefined ? (options.tries ?? 100) : 1;
  for (let port = first; port < first + tries; port++) {
    const server = await tryToListen(port);
    if (server !== undefined) return { server, port: portOf(server) };
  }
  const what = tries === 1 ? `port ${first} is` : `every port from ${first} to ${first + tries - 1} is`;
  throw new CodedError(workspaceErrors.PortTaken, `${what} taken on 127.0.0.1`, {
    remedy: 'Name a free one with --port, or leave the option out.',
  });
}

async function tryToListen(port: number): Promise<Server | undefined> {
  const server = createServer();
  server.listen({ host: '127.0.0.1', port, backlog, exclusive: true });
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE' || codeOf(error) === 'EACCES') return undefined;
    throw error;
  }
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
