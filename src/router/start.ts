import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, ListenOptions, Socket } from 'node:net';
import type { Clock } from '#kit/clock.ts';
import { codeOf } from '#kit/errors.ts';
import { buildRouter, type Router, type RouterOptions } from './app.ts';
import { defaultLimits, type RouterLimits } from './limits.ts';
import { createPeerServer } from './peers/listener.ts';
import { markAgentSocket } from './request.ts';
import { watchReaders } from './watch-readers.ts';

/** Where the router takes requests. */
export interface Listeners {
  /** For people and clients: an inherited descriptor, or host and port. */
  readonly public: { readonly fd: number } | { readonly host: string; readonly port: number };
  /** For agents' own calls: a Unix socket of this machine's sandboxes, or host and port in a cluster. */
  readonly agents?: string | { readonly host: string; readonly port: number };
  /** For other routers, when `peers` says where they are; `advertised` is the IP address by which they reach it. */
  readonly peers?: { readonly host: string; readonly port: number; readonly advertised: string };
}

export interface RunningRouter extends Router {
  /** Port of the public listener. */
  readonly port: number;
  /** Port of the agents' listener; undefined for a socket. */
  readonly agentsPort: number | undefined;
  /** Where other routers reach it, `IP:PORT`. */
  readonly peerAddress: string | undefined;
  /**
   * Says that it is not ready and serves on for `limits.lameDuckMs`; then takes no more connections, ends event
   * streams, lets what runs end for `limits.drainMs`, then cuts.
   */
  close(): Promise<void>;
}

export interface StartOptions extends Omit<RouterOptions, 'ports'> {
  /** The loopback names count at every port, not only at the router's own: it is reached by forwarded ports. */
  readonly anyLoopbackPort?: boolean;
  /** What is waited for before the router listens, where connections can wait for it. */
  readonly listenAfter?: Promise<unknown>;
}

/** Builds a router and lets it listen. */
export async function startRouter(options: StartOptions, listeners: Listeners): Promise<RunningRouter> {
  const limits = { ...defaultLimits, ...options.limits };
  let port = 0;
  const router = buildRouter({ ...options, ports: () => (options.anyLoopbackPort ? undefined : [port]) });
  const open = openServer(router, limits, options.clock);
  await options.listenAfter;
  await listen(open, listeners.public);
  port = portOf(open) ?? 0;
  const servers = [open];
  if (listeners.agents !== undefined)
    servers.push(await openAgentListener(router, limits, options.clock, listeners.agents));
  const agentsPort = portOf(servers[1]);
  const peers = await openPeerListener(router, limits, listeners.peers);
  return {
    ...router,
    port,
    agentsPort,
    peerAddress: peers?.address,
    async close() {
      // Others are heard to the end: what ended there must not go on here.
      await drain(router, servers, limits, options);
      peers?.close();
    },
  };
}

function openServer({ handle }: Router, limits: RouterLimits, clock: Clock): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      // Bodies have limits of their own: a file may take as long as its bytes come.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: limits.headerBytes,
      noDelay: true,
      requireHostHeader: true,
      // Two Hosts, or two types, are none: whoever is next on the way could believe the other one.
      joinDuplicateHeaders: true,
    },
    handle,
  );
  server.maxConnections = limits.connections;
  watchReaders(server, clock, limits.unreadAnswerMs);
  // Their bytes are bounded; beyond a number of headers node would leave out the others without a word.
  server.maxHeadersCount = 0;
  server.on('clientError', (error, socket) => endWith(socket as Socket, statusFor(error), clock));
  server.on('upgrade', (_, socket) => endWith(socket as Socket, '501 Not Implemented', clock));
  return server;
}

const parserStatuses: ReadonlyMap<string | undefined, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Content Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

/** What a client is told of a request that was not one, too large for one, or too slow. */
function statusFor(error: Error): string {
  return parserStatuses.get(codeOf(error)) ?? '400 Bad Request';
}

/** A client has this long, in milliseconds, to take the last of a connection; closed at once, it could lose that. */
const lingerMs = 1_000;

/**
 * Ends a connection that the server looks at no more: whether the client closes its side or not. Says why, unless
 * something was answered on it already: it would stand in the middle of that.
 */
function endWith(socket: Socket, status: string, clock: Clock): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const silent = socket.bytesWritten > 0;
  socket.on('error', () => undefined);
  socket.end(silent ? '' : `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  socket.once(
    'close',
    clock.after(lingerMs, () => socket.destroy()),
  );
}

/**
 * Only this user reaches the socket, and only workloads reach the port (a NetworkPolicy says so); whoever comes
 * through either is marked as something inside a workload.
 */
async function openAgentListener(
  router: Router,
  limits: RouterLimits,
  clock: Clock,
  where: NonNullable<Listeners['agents']>,
): Promise<Server> {
  const server = openServer(router, limits, clock);
  server.on('connection', markAgentSocket);
  if (typeof where !== 'string') {
    await listen(server, where);
    return server;
  }
  rmSync(where, { force: true });
  await listen(server, { path: where });
  chmodSync(where, 0o600);
  return server;
}

async function openPeerListener(
  { services }: Router,
  limits: RouterLimits,
  where: Listeners['peers'],
): Promise<{ readonly address: string; close(): void } | undefined> {
  if (where === undefined) return undefined;
  const server = createPeerServer(services.peers, limits);
  await listen(server, { host: where.host, port: where.port });
  const { advertised } = where;
  const address = `${advertised.includes(':') ? `[${advertised}]` : advertised}:${portOf(server)}`;
  services.peers.start(address);
  return {
    address,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function portOf(server: Server | undefined): number | undefined {
  const address = server?.address() as AddressInfo | string | null | undefined;
  return typeof address === 'object' && address !== null ? address.port : undefined;
}

/**
 * Connections that wait to be accepted. Said for an inherited socket too, which had as many while no router was there:
 * node would set 511. The kernel caps it.
 */
const backlog = 4096;

function listen(server: Server, where: ListenOptions | { readonly fd: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // For a descriptor node takes it from here alone.
    server.listen({ ...where, backlog }, backlog, () => {
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
  await serveLastRequests(router, servers, limits, clock);
  const ended = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
  router.services.drain();
  for (const server of servers) server.closeIdleConnections();
  const cancel = clock.after(limits.drainMs, () => {
    for (const server of servers) server.closeAllConnections();
  });
  await Promise.all(ended);
  cancel();
  await router.close();
}

/**
 * Serves on while those who send requests here still learn that they should not. Each answer asks its client to
 * open its next connection elsewhere; a connection is never closed between two requests, where the next might be
 * on its way.
 */
async function serveLastRequests(
  { services }: Router,
  servers: readonly Server[],
  { lameDuckMs }: RouterLimits,
  clock: Clock,
): Promise<void> {
  services.retire();
  for (const server of servers) {
    server.prependListener('request', (_, response: ServerResponse) => {
      response.shouldKeepAlive = false;
    });
  }
  if (lameDuckMs > 0) await clock.sleep(lameDuckMs);
}
