import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { dirname } from 'node:path';
import { CodedError, messageOf } from '#kit/errors.ts';
import type { Limits } from '../limits.ts';

/** A socket that is being served. */
export interface Listener {
  /** TCP port, or 0. */
  readonly port: number;
  /** Refuses new connections and ends the present ones. */
  close(): Promise<void>;
  /** Cuts every connection and goes on listening. */
  cutConnections(): void;
}

const maxSocketPath = 104;

/**
 * Serves on a Unix socket that only the owner can connect to. The socket is bound under another name, made
 * private and then moved into place, so nobody can connect before; a socket left by a killed server is replaced.
 * Throws CodedError `SocketPathTooLong`.
 */
export async function listenUnix(path: string, handler: RequestListener, limits: Limits): Promise<Listener> {
  if (Buffer.byteLength(path) + 4 > maxSocketPath)
    throw new CodedError('SocketPathTooLong', `The socket path ${path} is too long for a Unix socket.`, {
      remedy: 'Choose a shorter runtime directory (XDG_RUNTIME_DIR).',
    });
  const server = createServer(serverOptions(limits), handler);
  server.maxConnections = limits.connections;
  const temporary = `${path}.new`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rm(temporary, { force: true });
  const listener = await listening(server, () => server.listen(temporary), 0);
  await chmod(temporary, 0o600);
  await rename(temporary, path);
  return {
    ...listener,
    close: async () => {
      await rm(path, { force: true });
      await listener.close();
    },
  };
}

/** Serves TLS on the loopback interface. Port 0 takes a free one. */
export function listenTls(
  port: number,
  tls: { key: string; cert: string },
  handler: RequestListener,
  limits: Limits,
): Promise<Listener> {
  const server = createTlsServer({ ...serverOptions(limits), ...tls, minVersion: 'TLSv1.2' }, handler);
  server.maxConnections = limits.connections;
  return listening(server, () => server.listen(port, '127.0.0.1'), port);
}

function serverOptions(limits: Limits) {
  return {
    requestTimeout: limits.requestMilliseconds,
    headersTimeout: Math.min(limits.requestMilliseconds, 10_000),
    keepAliveTimeout: 75_000,
    maxHeaderSize: 64 * 1024,
    noDelay: true,
  };
}

async function listening(server: Server, start: () => void, port: number): Promise<Listener> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new CodedError(
          'ListenFailed',
          `Cannot listen${port === 0 ? '' : ` on port ${port}`}: ${messageOf(cause)}`,
          { cause },
        ),
      ),
    );
    server.once('listening', resolve);
    start();
  });
  const address = server.address() as AddressInfo | string | null;
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cutConnections: () => cut(sockets),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        for (const socket of sockets) socket.end();
        setImmediate(() => cut(sockets));
      }),
  };
}

function cut(sockets: ReadonlySet<Socket>): void {
  for (const socket of sockets) socket.destroy();
}
