import type { Readable } from 'node:stream';
import type { Clock } from '#kit/clock.ts';
import { encodeHeaderValue } from '#mcp/headers.ts';
import { errorCodes, type JsonRpcNotification, type JsonRpcRequest } from '#mcp/jsonrpc.ts';
import { type ExchangeContext, exchange } from './exchange.ts';
import { linesOf } from './lines.ts';
import type { Link } from './link.ts';
import { errorLine, keyOf, type Outgoing, readOutgoing, statelessRevisionOf } from './message.ts';
import { followServer } from './server-stream.ts';
import { createSessionKeeper, type SessionKeeper } from './session.ts';
import { createToolHeaders } from './tool-headers.ts';

export interface BridgeOptions {
  readonly link: Link;
  readonly clock: Clock;
  readonly input: Readable;
  /** Writes a line, its end added, to the client. */
  send(line: string): void;
  /** Resolves when the client has room for more. */
  drained(): Promise<void>;
  /** Tells the person; never the client. */
  note(text: string): void;
  /** Aborted: end now. */
  readonly signal: AbortSignal;
  /** Of one message. */
  readonly maxMessageBytes: number;
  /** How long calls may still take once the client has closed its end. Milliseconds. */
  readonly drainMs: number;
}

interface Pending {
  readonly message: JsonRpcRequest;
  readonly controller: AbortController;
  isCancelled: boolean;
  readonly done: Promise<void>;
}

const endSessionMs = 1_000;

/**
 * Carries MCP between a client that speaks it on standard streams and a Streamable HTTP endpoint, both ways and in
 * every revision: messages go on as they are, and what HTTP needs beside them (headers, sessions, streams) is kept
 * here. Resolves when the client has closed its end.
 */
export async function runBridge(options: BridgeOptions): Promise<void> {
  const { link, clock, signal, drainMs } = options;
  const over = new AbortController();
  const ended = AbortSignal.any([signal, over.signal]);
  const session = createSessionKeeper(link, ended);
  const parts: Parts = { ...options, session, tools: createToolHeaders(), ended, pending: new Map() };
  const receive = createReceiver(parts);
  try {
    for await (const line of untilAborted(linesOf(options.input, options.maxMessageBytes), signal)) {
      if (line === undefined) refuseLine(parts, `a message is larger than ${options.maxMessageBytes} bytes`);
      else receive(readOutgoing(line));
    }
    await drain(parts.pending, clock, drainMs, signal);
  } finally {
    over.abort(new Error('the client has ended'));
    await session.end(endSessionMs);
    link.close();
  }
}

interface Parts extends BridgeOptions, ExchangeContext {
  readonly ended: AbortSignal;
  readonly pending: Map<string, Pending>;
  readonly session: SessionKeeper;
}

function refuseLine({ send }: Parts, why: string): void {
  const code = why.startsWith('Parse error') ? errorCodes.parse : errorCodes.invalidRequest;
  send(errorLine(null, code, why));
}

/**
 * Requests run side by side; each waits for `initialize` and the notifications before it, so that a session is there
 * and `initialized` comes first.
 */
function createReceiver(parts: Parts): (outgoing: Outgoing) => void {
  let before: Promise<void> = Promise.resolve();
  let stream: AbortController | undefined;
  const startStream = () => {
    stream?.abort();
    stream = new AbortController();
    const signal = AbortSignal.any([parts.ended, stream.signal]);
    void followServer({ ...parts, signal });
  };
  const inTurn = (run: () => Promise<void>) => {
    before = before.then(run).catch((error: unknown) => {
      if (!parts.ended.aborted) parts.note(parts.link.explain(error));
    });
  };
  return (outgoing) => {
    if (outgoing.kind === 'unusable') refuseLine(parts, outgoing.why);
    else if (outgoing.kind === 'response')
      void before.then(() => tell(parts, 'an answer', outgoing.body, parts.session.headers()));
    else if (outgoing.kind === 'request') {
      const done = startRequest(parts, outgoing.message, outgoing.body, before);
      if (outgoing.message.method === 'initialize') before = done;
    } else if (!cancelStateless(parts, outgoing.message)) {
      const { message, body } = outgoing;
      inTurn(async () => {
        await tell(parts, message.method, body, notificationHeaders(parts, message));
        if (message.method === 'notifications/initialized') startStream();
      });
    }
  };
}

function startRequest(
  parts: Parts,
  message: JsonRpcRequest,
  body: string,
  before: Promise<void>,
): Promise<void> {
  const { pending, ended } = parts;
  const key = keyOf(message.id);
  const controller = new AbortController();
  const signal = AbortSignal.any([ended, controller.signal]);
  const isCancelled = () => entry.isCancelled;
  const done = before
    .then(() => exchange(parts, { message, body, signal, isCancelled }))
    .finally(() => pending.get(key) === entry && pending.delete(key));
  const entry: Pending = { message, controller, isCancelled: false, done };
  pending.set(key, entry);
  return done;
}

/**
 * In the stateless era closing the stream cancels a call, and nothing is sent for it. In the era of sessions the
 * notification goes on, and only what the bridge itself waits for ends. True: all is done.
 */
function cancelStateless({ pending }: Parts, { method, params }: JsonRpcNotification): boolean {
  if (method !== 'notifications/cancelled') return false;
  const found = pending.get(keyOf(params?.['requestId']));
  if (found === undefined) return false;
  found.isCancelled = true;
  if (statelessRevisionOf(found.message) === undefined) return false;
  found.controller.abort(new Error('cancelled by the client'));
  return true;
}

function notificationHeaders({ session }: Parts, message: JsonRpcNotification): Record<string, string> {
  const revision = statelessRevisionOf(message);
  if (revision === undefined) return session.headers();
  return { 'mcp-protocol-version': revision, 'mcp-method': encodeHeaderValue(message.method) };
}

/** Sends what gets no answer. A session that the router lost takes nothing with it that could be told again. */
async function tell(
  parts: Parts,
  what: string,
  body: string,
  headers: Record<string, string>,
): Promise<void> {
  const { link, ended, note } = parts;
  try {
    const response = await link.send({ method: 'POST', body, headers, signal: ended });
    response.resume();
    const status = response.statusCode ?? 0;
    if (status >= 400 && status !== 404) note(`the router answered ${status} to ${what}`);
  } catch (error) {
    if (!ended.aborted) note(link.explain(error));
  }
}

/** Waits for the calls that run; subscriptions have no end of their own. */
async function drain(
  pending: ReadonlyMap<string, Pending>,
  clock: Clock,
  drainMs: number,
  signal: AbortSignal,
): Promise<void> {
  const calls = [...pending.values()].filter(
    ({ message, isCancelled }) => !isCancelled && message.method !== 'subscriptions/listen',
  );
  if (calls.length === 0) return;
  const late = new AbortController();
  const all = Promise.all(calls.map(({ done }) => done));
  await Promise.race([
    all,
    clock.sleep(drainMs, AbortSignal.any([signal, late.signal])).catch(() => undefined),
  ]);
  late.abort();
}

/** The same values, ending at once when the signal is aborted. */
async function* untilAborted<T>(source: AsyncGenerator<T>, signal: AbortSignal): AsyncGenerator<T> {
  const aborted = new Promise<IteratorResult<T, undefined>>((resolve) => {
    const stop = () => resolve({ done: true, value: undefined });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  for (;;) {
    const next = await Promise.race([source.next(), aborted]);
    if (next.done) return;
    yield next.value;
  }
}
