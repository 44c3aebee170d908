import type { Clock } from '#kit/clock.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { CallContext } from '../source.ts';
import type { ConnectionEvents, UpstreamCall } from './connection.ts';
import { answerQuestion } from './http-call.ts';
import { HttpClient } from './http-client.ts';
import type { HttpTarget } from './http-exchange.ts';

/**
 * Upstream sessions of single clients. A server may ask only who declared that it can answer, and what it asks
 * must reach that client and no other: so each client of the sessions era that can be asked gets an upstream
 * session of its own, opened with its first call. All others share one that declares nothing.
 */
export interface SessionClients {
  /** Undefined: the call belongs on the shared session. */
  request(method: string, params: Params, call: UpstreamCall): Promise<Result> | undefined;
  /** Ends the upstream session of a client that has gone. */
  end(session: string): void;
  close(): Promise<void>;
}

export interface SessionClientsOptions {
  readonly target: HttpTarget;
  readonly events: ConnectionEvents;
  readonly clock: Clock;
  /** Milliseconds for the handshake. */
  readonly startMs: number;
  /** Milliseconds until an unused upstream session ends. Default an hour. */
  readonly idleMs?: number;
  /** At once. More than this, and the longest unused one ends. Default 1000. */
  readonly max?: number;
  /** The server could not be reached any more. */
  onLost(reason: string): void;
}

/** What a server may ask, and the client's capability that allows it. */
const questions: ReadonlyMap<string, string> = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
]);

interface Entry {
  readonly ready: Promise<HttpClient>;
  readonly running: Set<CallContext>;
  readonly stop: AbortController;
  cancelIdle: () => void;
}

export function createSessionClients(options: SessionClientsOptions): SessionClients {
  const { clock, idleMs = 3_600_000, max = 1000 } = options;
  /** In order of last use. */
  const entries = new Map<string, Entry>();

  function end(key: string, entry: Entry): void {
    if (entries.get(key) === entry) entries.delete(key);
    entry.cancelIdle();
    entry.stop.abort(new Error('The session ended'));
    entry.ready.then((client) => client.end()).catch(() => undefined);
  }
  function makeRoom(): void {
    const idle = entries.entries().find(([, { running }]) => running.size === 0);
    if (entries.size >= max && idle !== undefined) end(...idle);
  }
  function entryFor(key: string, capabilities: Record<string, unknown>): Entry {
    const known = entries.get(key);
    if (known !== undefined) {
      entries.delete(key);
      entries.set(key, known);
      return known;
    }
    makeRoom();
    const entry = openEntry(options, capabilities);
    entries.set(key, entry);
    const closed = entry.ready.then((client) => client.closed);
    closed.then(options.onLost, () => undefined).finally(() => end(key, entry));
    return entry;
  }
  async function requestOf(
    key: string,
    entry: Entry,
    context: CallContext,
    send: (client: HttpClient) => Promise<Result>,
  ): Promise<Result> {
    entry.cancelIdle();
    entry.running.add(context);
    try {
      return await send(await entry.ready);
    } finally {
      entry.running.delete(context);
      const idles = entry.running.size === 0 && entries.get(key) === entry;
      if (idles) entry.cancelIdle = clock.after(idleMs, () => end(key, entry));
    }
  }
  return {
    request(method, params, call) {
      const { context } = call;
      const capabilities = context === undefined ? {} : answerable(context);
      if (context?.session === undefined || Object.keys(capabilities).length === 0) return undefined;
      const key = context.session;
      const entry = entryFor(key, capabilities);
      const opening = { signal: entry.stop.signal, timeoutMs: options.startMs, context: undefined };
      return requestOf(key, entry, context, (client) =>
        client.request(method, params, call, () => client.open(opening)),
      );
    },
    end(session) {
      const entry = entries.get(session);
      if (entry !== undefined) end(session, entry);
    },
    async close() {
      const open = [...entries];
      for (const [key, entry] of open) end(key, entry);
      await Promise.allSettled(open.map(([, { ready }]) => ready));
    },
  };
}

/** What the client of a call can be asked. Changes of its roots are not passed on, so they are not promised. */
function answerable({ era, ask, capabilities }: CallContext): Record<string, unknown> {
  if (era !== 'sessions' || ask === undefined) return {};
  const { sampling, elicitation, roots } = capabilities;
  return {
    ...(sampling !== undefined && { sampling }),
    ...(elicitation !== undefined && { elicitation }),
    ...(roots !== undefined && { roots: {} }),
  };
}

function openEntry(options: SessionClientsOptions, capabilities: Record<string, unknown>): Entry {
  const running = new Set<CallContext>();
  const stop = new AbortController();
  const ready = openFor(options, capabilities, running, stop.signal);
  return { ready, running, stop, cancelIdle: () => {} };
}

/**
 * A question on the session's own stream names no call: it goes to the client with the youngest call that
 * runs, since it is the same client in every case.
 */
async function openFor(
  { target, events, clock, startMs }: SessionClientsOptions,
  capabilities: Record<string, unknown>,
  running: ReadonlySet<CallContext>,
  signal: AbortSignal,
): Promise<HttpClient> {
  const client = new HttpClient({
    target,
    events,
    clock,
    capabilities,
    async answer(method, params, context, stopped) {
      const needed = questions.get(method);
      if (needed === undefined || capabilities[needed] === undefined) return answerQuestion(method);
      const ask = (context ?? [...running].at(-1))?.ask;
      if (ask === undefined)
        throw new RpcError(errorCodes.internal, 'No call of the client runs that could be asked');
      return ask(method, params, stopped);
    },
  });
  await client.open({ signal, timeoutMs: startMs, context: undefined });
  void client.listen(signal);
  return client;
}
