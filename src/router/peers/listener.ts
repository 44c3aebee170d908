import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { RouterLimits } from '../limits.ts';
import { longestMessage } from './messages.ts';
import type { Peers } from './peers.ts';

/** Connections at once: far more than there are routers. */
const mostConnections = 1_000;

/**
 * The listener for other routers alone. Nothing of what people or agents may ask for is served here, and nothing
 * of this there. What no router has sealed is answered 404, whatever it is.
 */
export function createPeerServer(peers: Pick<Peers, 'receive'>, limits: RouterLimits): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.bodyTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 4 * 1024,
      noDelay: true,
    },
    (request, response) => {
      readMessage(request, (message) => answer(peers, request, response, message));
    },
  );
  server.maxConnections = mostConnections;
  server.on('clientError', (_, socket) => socket.destroy());
  server.on('upgrade', (_, socket) => socket.destroy());
  return server;
}

/** Calls back once: with the body, or with undefined as soon as it is too long. */
function readMessage(request: IncomingMessage, done: (message: string | undefined) => void): void {
  const parts: Buffer[] = [];
  let size = 0;
  request.on('data', (part: Buffer) => {
    if (size > longestMessage) return;
    size += part.length;
    if (size <= longestMessage) parts.push(part);
    else done(undefined);
  });
  request.on('end', () => {
    if (size <= longestMessage) done(Buffer.concat(parts).toString('latin1'));
  });
  request.on('error', () => undefined);
}

function answer(
  peers: Pick<Peers, 'receive'>,
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  message: string | undefined,
): void {
  const said = method === 'POST' && message !== undefined ? peers.receive(url, message) : undefined;
  if (said === undefined) {
    // A connection that carried what is no message carries nothing more.
    response.writeHead(404, { connection: 'close', 'content-length': 0 }).end();
  } else if (said === '') {
    response.writeHead(204).end();
  } else {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': said.length }).end(said);
  }
}
