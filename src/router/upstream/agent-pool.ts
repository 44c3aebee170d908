import type { Socket } from 'node:net';
import { type Dispatcher, Pool } from 'undici';
import type { Clock } from '#kit/clock.ts';
import type { ProvenConnection } from '#wire/connect.ts';
import type { WireKey } from '#wire/keys.ts';

/** Kept-alive, proven connections to one instance of an agent. */
export interface AgentPool {
  readonly dispatcher: Dispatcher;
  /** For requests whose answers last as long as clients listen: they take no connection from others. */
  readonly streams: Dispatcher;
  /**
   * The key to sign with for this instance: the one that it last proved to hold, while that is valid, because a
   * newer one may not have reached it yet. Undefined until it has proved one: await `prove()` first.
   */
  signingKey(): WireKey | undefined;
  /** Opens a connection, which the next request takes, to learn which key the instance holds. Rejects as connecting does. */
  prove(): Promise<void>;
  /** Takes no more requests and ends with the last of those that run. */
  retire(): Promise<void>;
  /** Cuts everything. */
  close(): Promise<void>;
}

export interface AgentPoolOptions {
  readonly connections: number;
  readonly connect: () => Promise<ProvenConnection>;
  /** The agent's keys that are valid now, the current one first. */
  readonly keys: () => readonly WireKey[];
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Told why a connection could not be made. */
  readonly onFailure: (error: unknown) => void;
}

/** How often, in milliseconds, an instance that holds no more than the previous key is asked for the current one. */
const renewMs = 30_000;

/** Deadlines of requests are given with each of them. */
export function openAgentPool(options: AgentPoolOptions): AgentPool {
  const { keys, clock } = options;
  let proven: string | undefined;
  let provenAt = 0;
  let proving: Promise<void> | undefined;
  const spare = createSpare();

  async function connect(): Promise<Socket> {
    try {
      const { socket, key } = await options.connect();
      proven = key.kid;
      provenAt = clock.monotonic();
      return socket;
    } catch (error) {
      options.onFailure(error);
      throw error;
    }
  }
  function prove(): Promise<void> {
    proving ??= connect()
      .then(spare.keep)
      .finally(() => {
        proving = undefined;
      });
    return proving;
  }
  /** Connections may live for hours: a key that ends must not be signed with until they do. */
  function renewLater(): void {
    if (clock.monotonic() - provenAt < renewMs) return;
    provenAt = clock.monotonic();
    // No request waits for this connection: kept, it would be stale when one comes.
    prove().then(spare.drop, () => undefined);
  }
  const pool = openPool(options.connections, () => {
    const waiting = spare.take();
    return waiting === undefined ? connect() : Promise.resolve(waiting);
  });
  const streams = openPool(null, connect);
  return {
    dispatcher: pool,
    streams,
    signingKey() {
      if (proven === undefined) return undefined;
      const valid = keys();
      const [current] = valid;
      if (current?.kid !== proven) renewLater();
      return valid.find((key) => key.kid === proven) ?? current;
    },
    prove,
    async retire() {
      spare.close();
      await Promise.all([pool.close(), streams.close()]);
    },
    async close() {
      spare.close();
      await Promise.all([pool.destroy(), streams.destroy()]);
    },
  };
}

/** `connections` null: as many as are asked for. */
function openPool(connections: number | null, connect: () => Promise<Socket>): Pool {
  return new Pool('http://agent', {
    connections,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: 30_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect(_, callback) {
      connect().then(
        (socket) => callback(null, socket),
        (error) => callback(error, null),
      );
    },
  });
}

/** One connection that waits for its first request. */
function createSpare() {
  let held: Socket | undefined;
  let closed = false;
  const onError = () => undefined;
  function take(): Socket | undefined {
    const socket = held;
    held = undefined;
    if (socket === undefined || socket.destroyed || socket.readableEnded) return undefined;
    socket.off('error', onError);
    return socket;
  }
  function drop(): void {
    held?.destroy();
    held = undefined;
  }
  return {
    take,
    keep(socket: Socket): void {
      drop();
      held = socket.on('error', onError);
      if (closed) drop();
    },
    drop,
    /** Nothing is kept from now on. */
    close(): void {
      closed = true;
      drop();
    },
  };
}
