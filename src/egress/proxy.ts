import { chmodSync, rmSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { refuseRequest, refuseTunnel } from './answers.ts';
import { authenticate, type Caller, type CallerLookup } from './callers.ts';
import { allowedAddresses, requireRule, type Target } from './decide.ts';
import { dial } from './dial.ts';
import { EgressRefusal } from './errors.ts';
import { forwardedRequestHeaders, forwardedResponseHeaders } from './headers.ts';
import { pipeChecked } from './opening.ts';
import { createSlots, type Slots } from './slots.ts';
import { parseAbsoluteForm, parseAuthority } from './target.ts';

export interface EgressProxyOptions {
  readonly listen: { readonly socket: string } | { readonly host: string; readonly port: number };
  readonly lookup: CallerLookup;
  /** Resolves a name to its addresses, best first. Empty or an error: the name is not found. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
  readonly log: Log;
  /** Default: TCP from this machine. Tests put their own network here. */
  readonly dial?: typeof dial;
  readonly limits?: Partial<EgressLimits>;
}

export interface EgressLimits {
  /** Open connections of one workload. Default 128. */
  readonly perWorkload: number;
  /** Open connections in all. Default 4,096. */
  readonly total: number;
  /** A connection on which nothing moves for this long is closed. Default 300,000 ms. */
  readonly idleMs: number;
  /** For each address. Default 10,000 ms. */
  readonly connectMs: number;
  /** Time to send the request's head. Default 10,000 ms. */
  readonly headMs: number;
  /** Size of the request's head. Default 16 KiB. */
  readonly headBytes: number;
}

export const defaultLimits: EgressLimits = {
  perWorkload: 128,
  total: 4_096,
  idleMs: 300_000,
  connectMs: 10_000,
  headMs: 10_000,
  headBytes: 16_384,
};

export interface EgressProxy {
  /** Where it listens: `unix:/path` or `host:port`. */
  readonly address: string;
  /** Takes no more connections; resolves when the open ones have ended, or after so many milliseconds. */
  drain(forMs: number): Promise<void>;
  /** Ends every connection. */
  close(): Promise<void>;
}

/**
 * Starts the allow-listing proxy: CONNECT for everything, absolute-form requests for plain http. Every request
 * carries a workload's credential; its Agent's rules say what it reaches. Names are resolved here, addresses
 * are checked here, and the very address that was checked is connected to.
 */
export async function startEgressProxy(options: EgressProxyOptions): Promise<EgressProxy> {
  const proxy = new AllowListProxy(options);
  await proxy.listen();
  return proxy;
}

class AllowListProxy implements EgressProxy {
  readonly #options: EgressProxyOptions;
  readonly #limits: EgressLimits;
  readonly #slots: Slots;
  readonly #server: Server;
  readonly #open = new Set<Socket | Duplex>();

  constructor(options: EgressProxyOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#slots = createSlots(this.#limits.perWorkload, this.#limits.total);
    this.#server = createServer({
      maxHeaderSize: this.#limits.headBytes,
      headersTimeout: this.#limits.headMs,
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(1_000, this.#limits.headMs),
      keepAliveTimeout: 5_000,
    });
    this.#server.maxConnections = this.#limits.total;
    this.#server.on('connection', (socket) => this.#track(socket));
    this.#server.on('connect', (request, socket, head) => void this.#tunnel(request, socket, head));
    this.#server.on('request', (request, response) => void this.#forward(request, response));
    this.#server.on('upgrade', (_request, socket) =>
      refuseTunnel(socket, new EgressRefusal('BadRequest', 'use CONNECT')),
    );
  }

  get address(): string {
    const address = this.#server.address() as AddressInfo | string;
    return typeof address === 'string' ? `unix:${address}` : `${address.address}:${address.port}`;
  }

  async listen(): Promise<void> {
    const { listen } = this.#options;
    if ('socket' in listen) rmSync(listen.socket, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      const onListening = () => resolve();
      if ('socket' in listen) this.#server.listen(listen.socket, onListening);
      else this.#server.listen(listen.port, listen.host, onListening);
    });
    if ('socket' in listen) chmodSync(listen.socket, 0o600);
  }

  async drain(forMs: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, forMs);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await Promise.race([closed, late.promise]);
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#open) socket.destroy();
    await closed;
  }

  #track(socket: Socket | Duplex): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }

  async #tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on('error', () => client.destroy());
    let release: () => void = () => undefined;
    try {
      const target = parseAuthority(request.url ?? '');
      const caller = authenticate(request.headers['proxy-authorization'], this.#options.lookup);
      release = this.#slots.take(caller);
      const { socket } = await this.#reach(caller, target);
      socket.once('close', release);
      if (client.destroyed) {
        socket.destroy();
        return;
      }
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      if (head.length > 0) client.unshift(head);
      this.#join(client, socket, caller, target);
    } catch (error) {
      release();
      refuseTunnel(client, this.#refusalOf(error, request));
    }
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let release: () => void = () => undefined;
    try {
      const target = parseAbsoluteForm(request.url ?? '');
      const caller = authenticate(request.headers['proxy-authorization'], this.#options.lookup);
      release = this.#slots.take(caller);
      response.once('close', release);
      const { socket } = await this.#reach(caller, target);
      if (response.destroyed) socket.destroy();
      else this.#relay(request, response, socket, target);
    } catch (error) {
      release();
      refuseRequest(response, this.#refusalOf(error, request));
    }
  }

  /** Rule, name, addresses, connection: in this order, each refusing on its own. */
  async #reach(
    caller: Caller,
    target: Target,
  ): Promise<{ readonly socket: Socket; readonly address: string }> {
    const { log, resolve } = this.#options;
    const fields = fieldsOf(caller, target);
    try {
      requireRule(caller, target);
      const addresses = allowedAddresses(caller, target, await resolveTarget(target, resolve));
      const opened = await (this.#options.dial ?? dial)(addresses, target.port, this.#limits.connectMs);
      this.#track(opened.socket);
      log.info('egress allowed', { ...fields, address: opened.address });
      return opened;
    } catch (error) {
      const code = error instanceof EgressRefusal ? error.code : 'Unreachable';
      log.warn('egress refused', { ...fields, code, reason: messageOf(error) });
      throw error;
    }
  }

  #join(client: Duplex, server: Socket, caller: Caller, target: Target): void {
    const drop = () => {
      client.destroy();
      server.destroy();
    };
    server.setTimeout(this.#limits.idleMs, drop);
    for (const side of [client, server]) side.on('error', drop);
    client.once('close', () => server.destroy());
    server.once('close', () => client.destroy());
    pipeChecked(client, server, target, ({ code, message }) =>
      this.#options.log.warn('egress refused', { ...fieldsOf(caller, target), code, reason: message }),
    );
    server.pipe(client);
  }

  #relay(
    request: IncomingMessage,
    response: ServerResponse,
    socket: Socket,
    target: { path: string; authority: string },
  ): void {
    const outgoing = sendRequest({
      createConnection: () => socket,
      method: request.method ?? 'GET',
      path: target.path,
      setHost: false,
      headers: { ...forwardedRequestHeaders(request.headers), host: target.authority, connection: 'close' },
    });
    outgoing.setTimeout(this.#limits.idleMs, () =>
      outgoing.destroy(new EgressRefusal('Timeout', 'no answer')),
    );
    outgoing.once('response', (incoming) => {
      // The agent-server's forward puts the credential into the first request of a connection only.
      const headers = { ...forwardedResponseHeaders(incoming.headers), connection: 'close' };
      response.writeHead(incoming.statusCode ?? 502, headers);
      incoming.pipe(response);
      incoming.once('error', () => response.destroy());
    });
    outgoing.once('error', (error) => refuseRequest(response, this.#refusalOf(error, request)));
    response.once('close', () => socket.destroy());
    request.pipe(outgoing);
  }

  #refusalOf(error: unknown, request: IncomingMessage): EgressRefusal {
    if (error instanceof EgressRefusal) {
      if (error.code === 'Unauthenticated')
        this.#options.log.warn('egress without a credential', { method: request.method });
      return error;
    }
    return new EgressRefusal('Unreachable', `the connection failed: ${messageOf(error)}`, { cause: error });
  }
}

/** Not the path of a forwarded request: queries hold people's tokens. */
function fieldsOf({ namespace, name, purpose }: Caller, { host, port }: Target) {
  return { agent: `${namespace}/${name}`, purpose, host, port };
}

async function resolveTarget(
  target: Target,
  resolve: EgressProxyOptions['resolve'],
): Promise<readonly string[]> {
  const addresses = await resolve(target.host).catch((error: unknown) => {
    throw new EgressRefusal('NameNotFound', `cannot resolve ${target.host}: ${messageOf(error)}`, {
      cause: error,
    });
  });
  if (addresses.length > 0) return addresses;
  throw new EgressRefusal('NameNotFound', `cannot resolve ${target.host}: it has no address`);
}
