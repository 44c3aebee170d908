import { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import { AgentServerError, type AgentServerErrorCode } from '../../errors.ts';

export interface WayOut {
  /** Port on 127.0.0.1 that leads to the egress proxy; undefined: connections go out straight. */
  readonly proxyPort: number | undefined;
  /** Authorities of servers' certificates, in PEM; undefined: the public ones. Asked at each connection. */
  readonly authorities: () => string | readonly string[] | undefined;
  readonly clock: Clock;
  /** Milliseconds until a connection has to stand. Default 20,000: the egress proxy itself waits 10. */
  readonly connectMs?: number;
}

export interface TunnelOptions extends WayOut {
  /** Whether connections are encrypted. A certificate that is not right is an error, always. */
  readonly tls: boolean;
  /** Connections at once, those that are being opened among them. */
  readonly maxSockets: number;
  /** It serves several, of whom none ends it: `end` does. */
  readonly shared?: boolean;
}

/** As far as servers elsewhere keep an idle connection at all, they keep it for five seconds. */
const idleMs = 4_000;
const longestAnswer = 16 * 1024;

/** Connections to servers elsewhere, each through a tunnel of its own; kept while calls follow each other. */
export class TunnelAgent extends Agent {
  readonly #options: TunnelOptions;

  constructor(options: TunnelOptions) {
    super({ keepAlive: true, maxSockets: options.maxSockets, timeout: idleMs });
    this.#options = options;
  }

  override destroy(): void {
    if (this.#options.shared !== true) super.destroy();
  }

  end(): void {
    super.destroy();
  }

  override createConnection(
    options: ClientRequestArgs,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const target = { host: options.host ?? '', port: Number(options.port) };
    const tell = callback as ((error: Error | null, socket?: Duplex) => void) | undefined;
    // Node counts a connection once it stands: one that is being opened takes its place from here.
    this.maxSockets -= 1;
    this.#open(target).then(
      (socket) => {
        this.maxSockets += 1;
        tell?.(null, socket);
      },
      (error: unknown) => {
        this.maxSockets += 1;
        tell?.(error as Error);
        // After the request that it was for has failed: Node may have left that in the queue.
        process.nextTick(() => this.#passOn(options));
      },
    );
    return undefined;
  }

  /** The place of a connection that could not be had goes to the request that waits longest, which no other may ever serve. */
  #passOn(options: ClientRequestArgs): void {
    const waiting = this.requests[this.getName(options)];
    let next = waiting?.shift();
    while (next?.destroyed || next?.closed) next = waiting?.shift();
    if (next !== undefined) (this as unknown as TakesRequests).addRequest(next, options);
  }

  async #open(target: Target): Promise<Socket> {
    const { clock, connectMs = 20_000, proxyPort, tls } = this.#options;
    let newest: Socket | undefined;
    const late = () => newest?.destroy(new Error(`no connection within ${connectMs} ms`));
    const cancel = clock.after(connectMs, late);
    try {
      const to = proxyPort === undefined ? target : { host: '127.0.0.1', port: proxyPort };
      newest = connect({ ...to, noDelay: true, keepAlive: true });
      await opened(newest, 'connect');
      if (proxyPort !== undefined) await askForTunnel(newest, target);
      if (!tls) return newest;
      newest = this.#encrypt(newest, target);
      await opened(newest, 'secureConnect');
      return newest;
    } catch (error) {
      newest?.on('error', () => undefined).destroy();
      throw error instanceof AgentServerError ? error : unreachable(target, error);
    } finally {
      cancel();
    }
  }

  #encrypt(socket: Socket, { host }: Target): Socket {
    const authorities = this.#options.authorities();
    return connectTls({
      socket,
      host,
      // An address is checked against the certificate by `host`; it is no server name (RFC 6066, section 3).
      ...(/^[0-9.]+$|:/.test(host) ? {} : { servername: host }),
      ALPNProtocols: ['http/1.1'],
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      ...(authorities === undefined ? {} : { ca: [authorities].flat() }),
    });
  }
}

/** What every agent of Node has and its types leave out. */
interface TakesRequests {
  addRequest(request: ClientRequest, options: ClientRequestArgs): void;
}

interface Target {
  readonly host: string;
  readonly port: number;
}

function opened(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = () => reject(new Error('the connection was closed'));
    socket.once('error', reject).once('close', onClose);
    socket.once(event, () => {
      socket.off('error', reject).off('close', onClose);
      resolve();
    });
  });
}

/** Resolves when the proxy leads on. Rejects with its own words. */
async function askForTunnel(socket: Socket, { host, port }: Target): Promise<void> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const { status, body } = await readAnswer(socket);
  if (status === 200) return;
  const said = body.replaceAll(/\s+/g, ' ').trim() || `HTTP ${status}`;
  throw new AgentServerError(
    refusals.get(status) ?? 'UpstreamLost',
    `${authority} cannot be reached: ${said}`,
  );
}

const refusals: ReadonlyMap<number, AgentServerErrorCode> = new Map([
  [403, 'UpstreamNotAllowed'],
  [429, 'UpstreamBusy'],
]);

/** The head of an answer that lets through, the whole of another. */
function readAnswer(socket: Socket): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    let received = '';
    const finish = (outcome: () => void) => {
      socket.off('readable', onReadable).off('error', onError).off('close', onEnd).off('end', onEnd);
      outcome();
    };
    const onError = (error: Error) => finish(() => reject(error));
    const answer = () => {
      const [head = '', body = ''] = received.split(/\r\n\r\n(.*)/s);
      return { status: Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0), body };
    };
    const onEnd = () => {
      if (received === '') onError(new Error('the egress proxy closed the connection'));
      else finish(() => resolve(answer()));
    };
    const onReadable = () => {
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      received += chunk.toString('utf8');
      const isOpen = received.includes('\r\n\r\n') && answer().status === 200;
      if (isOpen || received.length > longestAnswer) finish(() => resolve(answer()));
    };
    socket.on('readable', onReadable).on('error', onError).on('close', onEnd).on('end', onEnd);
  });
}

function unreachable({ host, port }: Target, error: unknown): AgentServerError {
  const isCertificate = /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/.test(codeOf(error) ?? '');
  const hint = isCertificate ? '; name its authority in mcp.upstream.ca if it is one of your own' : '';
  return new AgentServerError(
    'UpstreamLost',
    `${host}:${port} cannot be reached: ${messageOf(error)}${hint}`,
    {
      cause: error,
    },
  );
}
