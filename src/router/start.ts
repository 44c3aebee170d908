import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';
import { buildRouter, type Router, type RouterOptions } from './app.ts';
import { defaultLimits, type RouterLimits } from './limits.ts';
import { markAgentSocket } from './request.ts';

/** Where the router takes requests. */
export interface Listeners {
  /** For people and clients: an inherited descriptor, or host and port. */
  readonly public: { readonly fd: number } | { readonly host: string; readonly port: number };
  /** For agents inside sandboxes: a Unix socket. */
  readonly agents?: string;
}

export interface RunningRouter extends Router {
  /** Port of the public listener. */
  readonly port: number;
  /**
   * Takes no more connections, ends event streams, lets what runs end for `limits.drainMs`, then cuts.
   */
  close(): Promise<void>;
}

/** Builds a router and lets it listen. */
export async function startRouter(
  options: Omit<RouterOptions, 'ports'>,
  listeners: Listeners,
): Promise<RunningRouter> {
  const limits = { ...defaultLimits, ...options.limits };
  let port = 0;
  const router = buildRouter({ ...options, ports: () => [port] });
  await router.app.ready();
  const open = openServer(router, limits);
  await listen(open, listeners.public);
  port = (open.address() as AddressInfo).port;
  const servers = [open];
  if (listeners.agents !== undefined) servers.push(await openAgentSocket(router, limits, listeners.agents));
  return { ...router, port, close: () => drain(router, servers, limits, options) };
}

function openServer({ app }: Router, limits: RouterLimits): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 32 * 1024,
      noDelay: true,
      requireHostHeader: true,
    },
    (request, response) => app.routing(request, response),
  );
  server.maxConnections = limits.connections;
  server.on('clientError', (_, socket) => {
    if (socket.writable)
      socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    else socket.destroy();
  });
  server.on('upgrade', (_, socket) => {
    socket.end('HTTP/1.1 501 Not Implemented\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
  });
  return server;
}

/** Only this user reaches it; whoever comes through it is marked as something inside a sandbox. */
async function openAgentSocket(router: Router, limits: RouterLimits, path: string): Promise<Server> {
  const server = openServer(router, limits);
  server.on('connection', markAgentSocket);
  rmSync(path, { force: true });
  await listen(server, { path });
  chmodSync(path, 0o600);
  return server;
}

function listen(server: Server, where: ListenOptions | { readonly fd: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(where as ListenOptions, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function drain(
  router: Router,
  servers: readonly Server[],
  limits: RouterLimits,
  { clock }: Pick<RouterOptions, 'clock'>,
): Promise<void> {
  const ended = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
  router.services.drain();
  for (const server of servers) server.closeIdleConnections();
  const cancel = clock.after(limits.drainMs, () => {
    for (const server of servers) server.closeAllConnections();
  });
  await Promise.all(ended);
  cancel();
  await router.app.close();
}
