import type { Socket } from 'node:net';
import type { Clock } from '#kit/clock.ts';
import { Connection } from './connection.ts';
import { HttpError, type HttpHandler, type HttpRequest } from './message.ts';

/** Connections to one peer, opened when there is work for them. */
export interface ConnectionPool {
  /**
   * In the order in which they come; waits while all connections are busy, for `silenceMs` of the request at most: then
   * it has failed as `Silent`, and never started.
   */
  send(request: HttpRequest, handler: HttpHandler): void;
  /** Takes back what waits with this handler, which is told nothing more. What has started is its flow's to abort. */
  drop(handler: HttpHandler): void;
  /** Takes a connection that was opened elsewhere, for the next request. */
  adopt(socket: Socket): void;
  /** Takes no more requests; resolves when the last of those that wait or run has ended. */
  close(): Promise<void>;
  /** Cuts everything. */
  destroy(): void;
}

export interface PoolOptions {
  readonly connections: number;
  readonly connect: () => Promise<Socket>;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
}

/** Bounds, in milliseconds, of the time between two looks at what is silent or idle for too long. */
const [oftenestLookMs, rarestLookMs] = [5, 500];
/** Where nothing runs that has a limit. */
const idleLookMs = 5_000;

export function createConnectionPool(options: PoolOptions): ConnectionPool {
  return new Connections(options);
}

interface Work {
  readonly request: HttpRequest;
  readonly handler: HttpHandler;
}

interface Waiting extends Work {
  /** Monotonic milliseconds. */
  readonly since: number;
}

class Connections implements ConnectionPool {
  readonly #options: PoolOptions;
  readonly #all = new Set<Connection>();
  /** The one that was used last is taken first: it is the one that its peer closes last. */
  readonly #idle: Connection[] = [];
  #waiting: Waiting[] = [];
  #due: (Work & { readonly connection: Connection })[] = [];
  #opening = 0;
  #closed: PromiseWithResolvers<void> | undefined;
  #look: { readonly everyMs: number; readonly cancel: () => void } | undefined;
  readonly #now: () => number;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#now = () => options.clock.monotonic();
  }

  send(request: HttpRequest, handler: HttpHandler): void {
    if (this.#closed !== undefined) {
      handler.failed(new HttpError('Closed', 'the pool is closed'));
      return;
    }
    const connection = this.#waiting.length === 0 ? this.#takeIdle() : undefined;
    this.#lookWithin(request.silenceMs);
    if (connection === undefined) this.#wait({ request, handler });
    else this.#sendSoon(connection, { request, handler });
  }

  drop(handler: HttpHandler): void {
    const at = this.#waiting.findIndex((waiting) => waiting.handler === handler);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    this.#settle();
  }

  #wait({ request, handler }: Work): void {
    this.#waiting.push({ request, handler, since: this.#now() });
    this.#open();
  }

  /**
   * A connection that was used before gets its request only after the loop has looked at what arrived on it: the end of
   * a connection that is known already costs no call, and bytes that nobody asked for are not taken for an answer.
   */
  #sendSoon(connection: Connection, { request, handler }: Work): void {
    if (!connection.used) {
      connection.send(request, handler);
      return;
    }
    if (this.#due.length === 0) setImmediate(() => this.#sendDue());
    this.#due.push({ request, handler, connection });
  }

  #sendDue(): void {
    const due = this.#due;
    this.#due = [];
    for (const { connection, request, handler } of due) {
      if (connection.isFresh()) connection.send(request, handler);
      else {
        connection.close();
        this.#wait({ request, handler });
      }
    }
  }

  adopt(socket: Socket): void {
    if (this.#closed === undefined) this.#add(socket);
    else socket.destroy();
  }

  #add(socket: Socket): void {
    const connection = new Connection({
      socket,
      now: this.#now,
      onIdle: (one) => this.#giveWork(one),
      onGone: (one) => this.#forget(one),
    });
    this.#all.add(connection);
    this.#lookWithin(0);
    this.#giveWork(connection);
  }

  close(): Promise<void> {
    this.#closed ??= Promise.withResolvers();
    for (const connection of this.#idle.splice(0)) connection.close();
    this.#settle();
    return this.#closed.promise;
  }

  destroy(): void {
    this.#closed ??= Promise.withResolvers();
    const error = new HttpError('Closed', 'the pool is closed');
    for (const { handler } of [...this.#waiting.splice(0), ...this.#due.splice(0)]) handler.failed(error);
    for (const connection of this.#all) connection.destroy(error);
    this.#settle();
  }

  #takeIdle(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined || connection.isFresh()) return connection;
      connection.close();
    }
  }

  #giveWork(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next !== undefined) this.#sendSoon(connection, next);
    else if (this.#closed !== undefined) connection.close();
    else this.#idle.push(connection);
  }

  /** A connection for everybody who waits, as far as there may be more of them. */
  #open(): void {
    const { connections, connect } = this.#options;
    const room = connections - this.#all.size - this.#opening;
    const wanted = Math.min(room, this.#waiting.length - this.#opening);
    for (let count = 0; count < wanted; count += 1) {
      this.#opening += 1;
      connect().then(
        (socket) => {
          this.#opening -= 1;
          if (this.#waiting.length === 0 && this.#closed !== undefined) socket.destroy();
          else this.#add(socket);
          this.#settle();
        },
        (error: Error) => {
          this.#opening -= 1;
          this.#waiting.shift()?.handler.failed(error);
          this.#open();
          this.#settle();
        },
      );
    }
  }

  #forget(connection: Connection): void {
    this.#all.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#open();
    this.#settle();
  }

  #lookWithin(silenceMs: number): void {
    const limited = silenceMs > 0 && silenceMs < Number.POSITIVE_INFINITY;
    const everyMs = limited ? Math.min(rarestLookMs, Math.max(oftenestLookMs, silenceMs / 8)) : idleLookMs;
    if (this.#look !== undefined && this.#look.everyMs <= everyMs) return;
    this.#look?.cancel();
    this.#look = { everyMs, cancel: this.#options.clock.after(everyMs, () => this.#lookAt()) };
  }

  #lookAt(): void {
    this.#look = undefined;
    for (const connection of this.#all) connection.look();
    this.#endWaiting();
    for (const connection of [...this.#idle]) if (!connection.isFresh()) connection.close();
    if (this.#all.size === 0 && this.#waiting.length === 0) return;
    let least = Number.POSITIVE_INFINITY;
    for (const { silenceMs = 0 } of this.#all) if (silenceMs > 0) least = Math.min(least, silenceMs);
    for (const { request } of this.#waiting)
      if (request.silenceMs > 0) least = Math.min(least, request.silenceMs);
    this.#lookWithin(least);
  }

  /** Of what has waited for too long. */
  #endWaiting(): void {
    const now = this.#now();
    const isLate = ({ request: { silenceMs }, since }: Waiting) => silenceMs > 0 && now - since >= silenceMs;
    if (!this.#waiting.some(isLate)) return;
    const late = this.#waiting.filter(isLate);
    this.#waiting = this.#waiting.filter((waiting) => !isLate(waiting));
    for (const { handler } of late) handler.failed(new HttpError('Silent', 'no connection was free in time'));
    this.#settle();
  }

  #settle(): void {
    const open = this.#all.size + this.#waiting.length + this.#due.length + this.#opening;
    if (this.#closed === undefined || open > 0) return;
    this.#look?.cancel();
    this.#look = undefined;
    this.#closed.resolve();
  }
}
