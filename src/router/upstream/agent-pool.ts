import type { Socket } from 'node:net';
import type { Clock } from '#kit/clock.ts';
import type { ProvenConnection } from '#wire/connect.ts';
import { type ConnectionPool, createConnectionPool } from '#wire/http1/connection-pool.ts';
import type { HttpHandler, HttpRequest } from '#wire/http1/message.ts';
import type { WireKey } from '#wire/keys.ts';

/** Requests of different lanes take no connections from each other. */
export type Lane =
  /** Whose answers come when their work is done. */
  | 'calls'
  /** Whose answers last as long as clients listen. */
  | 'streams'
  /** That are taken at once and answered with little or nothing: running calls may wait for what they say. */
  | 'messages';

/** Kept-alive, proven connections to one instance of an agent. */
export interface AgentPool {
  send(lane: Lane, request: HttpRequest, handler: HttpHandler): void;
  /** Takes back a request that has not started. */
  drop(lane: Lane, handler: HttpHandler): void;
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
  /** For calls. */
  readonly connections: number;
  readonly connect: () => Promise<ProvenConnection>;
  /** The agent's keys that are valid now, the current one first. */
  readonly keys: () => readonly WireKey[];
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  /** Told why a connection could not be made. */
  readonly onFailure: (error: unknown) => void;
}

/** How often, in milliseconds, an instance that holds no more than the previous key is asked for the current one. */
const renewMs = 30_000;

/** Connections for calls to each one for messages. */
const callsToMessages = 16;

/** Deadlines of requests are given with each of them. */
export function openAgentPool(options: AgentPoolOptions): AgentPool {
  const { keys, clock } = options;
  let proven: string | undefined;
  let provenAt = 0;
  let proving: Promise<void> | undefined;

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
      .then((socket) => lanes.calls.adopt(socket))
      .finally(() => {
        proving = undefined;
      });
    return proving;
  }
  /** Connections may live for hours: a key that ends must not be signed with until they do. */
  function renewLater(): void {
    if (clock.monotonic() - provenAt < renewMs) return;
    provenAt = clock.monotonic();
    // No request waits for this connection, and it is one too many.
    connect().then(
      (socket) => socket.destroy(),
      () => undefined,
    );
  }
  const laneOf = (connections: number) => createConnectionPool({ connections, connect, clock });
  const lanes = {
    calls: laneOf(options.connections),
    streams: laneOf(Number.POSITIVE_INFINITY),
    messages: laneOf(Math.ceil(options.connections / callsToMessages)),
  } satisfies Record<Lane, ConnectionPool>;
  return {
    send: (lane, request, handler) => lanes[lane].send(request, handler),
    drop: (lane, handler) => lanes[lane].drop(handler),
    signingKey() {
      if (proven === undefined) return undefined;
      const valid = keys();
      const [current] = valid;
      if (current?.kid !== proven) renewLater();
      return valid.find((key) => key.kid === proven) ?? current;
    },
    prove,
    async retire() {
      await Promise.all(Object.values(lanes).map((lane) => lane.close()));
    },
    async close() {
      for (const lane of Object.values(lanes)) lane.destroy();
    },
  };
}
