import { type BackoffOptions, backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import { AgentServerError } from '../errors.ts';
import type { ConnectionEvents, OpenConnection, UpstreamConnection } from './connection.ts';

export interface KeeperOptions {
  readonly open: OpenConnection;
  readonly events: ConnectionEvents;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called with each new connection before it is handed out; a rejection counts as a failed connect. */
  readonly prepare: (connection: UpstreamConnection) => Promise<void>;
  readonly onUp: () => void;
  /** Not called for a loss that is mended within two seconds, nor for a first connection that takes up to three. */
  readonly onDown: (reason: string, code: string | undefined) => void;
}

/** Keeps one connection to an upstream, opening it again whenever it is lost. */
export interface Keeper {
  /**
   * The connection, waiting for one that is being opened. Rejects with UpstreamLost when there will be none
   * soon, with the signal's reason when it is aborted.
   */
  get(signal: AbortSignal): Promise<UpstreamConnection>;
  /** Resolves when the first attempt has succeeded or failed. */
  readonly settled: Promise<void>;
  readonly signal: AbortSignal;
  close(): Promise<void>;
}

const reconnect: BackoffOptions = { initial: 50, max: 30_000, jitter: 0.1 };
/** Milliseconds of life after which a loss counts as the first one again. */
const stableMs = 60_000;
const patienceMs = 2000;
/** A server that comes up beside this one is not there at first. */
const startPatienceMs = 3000;
/** Longest pause, in milliseconds, that a call waits out instead of failing. */
const tolerableMs = 3000;

export function createKeeper(options: KeeperOptions): Keeper {
  const { clock, log } = options;
  const stopping = new AbortController();
  const firstDueAt = clock.monotonic() + startPatienceMs;
  let wasUp = false;
  let failures = 0;
  let cancelDown = () => {};
  let unavailable: string | undefined;
  let current = connect();

  async function connect(): Promise<UpstreamConnection> {
    const startedAt = clock.monotonic();
    unavailable = undefined;
    try {
      const connection = await options.open(options.events, stopping.signal);
      await options.prepare(connection).catch(async (error: unknown) => {
        await connection.close();
        throw error;
      });
      cancelDown();
      wasUp = true;
      options.onUp();
      void connection.closed.then((reason) => reopen(reason, startedAt, patienceMs));
      return connection;
    } catch (error) {
      const patience = wasUp ? 0 : Math.max(0, firstDueAt - clock.monotonic());
      reopen(messageOf(error), startedAt, patience, codeOf(error));
      throw lost(messageOf(error));
    }
  }
  function reopen(reason: string, startedAt: number, patience: number, code?: string): void {
    if (stopping.signal.aborted) return;
    failures = clock.monotonic() - startedAt > stableMs ? 1 : failures + 1;
    const delay = backoffDelay(reconnect, failures, options.random.fraction());
    log.warn('The MCP server is not there', { reason, retryInMs: Math.round(delay) });
    if (delay > tolerableMs) unavailable = reason;
    cancelDown();
    if (patience === 0) options.onDown(reason, code);
    else cancelDown = clock.after(patience, () => options.onDown(reason, code));
    current = clock.sleep(delay, stopping.signal).then(connect);
    current.catch(() => undefined);
  }
  return {
    signal: stopping.signal,
    settled: current.then(
      () => undefined,
      () => undefined,
    ),
    async get(signal) {
      if (unavailable !== undefined) throw lost(unavailable);
      return orAbort(current, signal);
    },
    async close() {
      stopping.abort(new Error('The agent-server stops'));
      cancelDown();
      await current.then((connection) => connection.close()).catch(() => undefined);
    },
  };
}

function lost(reason: string): AgentServerError {
  return new AgentServerError('UpstreamLost', `The MCP server of this agent is not there: ${reason}`);
}

/** Rejects with the signal's reason when it is aborted first. */
export function orAbort<T>(pending: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  return Promise.race([pending, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
}
