import type { Clock } from '#kit/clock.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { AgentServerError } from '../errors.ts';
import { createGate, type Gate } from '../queue/gate.ts';
import type { CallContext } from '../source.ts';
import type { UpstreamCall } from './connection.ts';
import { timeoutSignal } from './http-call.ts';

/** One open upstream session, or a process, of one client. */
export interface ClientLink {
  request(method: string, params: Params, call: UpstreamCall): Promise<Result>;
  readonly closed: Promise<string>;
  /** Something is subscribed to in it, or a task runs, so that it stays open though nobody calls. */
  readonly held: boolean;
  end(): Promise<void>;
}

export interface LinkEntry {
  readonly key: string;
  readonly link: Promise<ClientLink>;
  /** As far as it is open. */
  opened: ClientLink | undefined;
  /** Calls that the server may ask something in. */
  readonly running: Set<CallContext>;
  /** Calls that run or wait. */
  users: number;
  readonly stop: AbortController;
  readonly gate: Gate | undefined;
  cancelIdle: () => void;
  ended: Promise<void> | undefined;
}

export interface LinkTableOptions {
  readonly clock: Clock;
  readonly idleMs: number;
  readonly max: number;
  readonly oneByOne: boolean;
  open(
    capabilities: CallContext['capabilities'],
    running: ReadonlySet<CallContext>,
    signal: AbortSignal,
    key: string,
  ): Promise<ClientLink>;
  onLost?(reason: string): void;
}

const mostWaiting = 1000;

/** Links by their clients' sessions, a bounded number, in order of last use. */
export class LinkTable {
  readonly #options: LinkTableOptions;
  readonly #entries = new Map<string, LinkEntry>();
  /** Who waits for a link to become unused. */
  readonly #waiting = new Set<() => void>();
  #closing: Promise<unknown> | undefined;

  constructor(options: LinkTableOptions) {
    this.#options = options;
  }

  find(key: string): LinkEntry | undefined {
    const known = this.#entries.get(key);
    if (known === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, known);
    return known;
  }

  /**
   * Waits for room when all links are used. `take` is called as soon as the link is in the table, so that a caller
   * that uses it keeps it from who waits for room too. Rejects with the signal's
   * reason, and with UpstreamLost when the table is closed.
   */
  async open<T>(
    key: string,
    capabilities: CallContext['capabilities'],
    signal: AbortSignal,
    take: (entry: LinkEntry) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    while (this.#closing === undefined && !this.#entries.has(key) && !this.#makeRoom())
      await this.#roomOrAbort(signal);
    if (this.#closing !== undefined) throw closed();
    return take(this.find(key) ?? this.#add(key, capabilities));
  }

  async use(
    entry: LinkEntry,
    method: string,
    params: Params,
    call: UpstreamCall,
    context: CallContext,
  ): Promise<Result> {
    entry.cancelIdle();
    entry.users += 1;
    let leave: (() => void) | undefined;
    // Requests about tasks run beside the one call: what a task asks says that it is the task's.
    const isAside = method.startsWith('tasks/');
    try {
      if (!isAside) leave = await this.#enter(entry, call);
      if (!isAside || context.task !== undefined) entry.running.add(context);
      return await (await entry.link).request(method, params, call);
    } finally {
      leave?.();
      entry.running.delete(context);
      entry.users -= 1;
      this.#rest(entry);
    }
  }

  /** Waits for its turn as long as for an answer. */
  async #enter({ gate }: LinkEntry, call: UpstreamCall): Promise<(() => void) | undefined> {
    if (gate === undefined) return undefined;
    const timeout = timeoutSignal(call, this.#options.clock);
    try {
      return await gate.enter(timeout.signal);
    } finally {
      timeout.clear();
    }
  }

  end(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) void this.#end(entry);
  }

  async close(): Promise<void> {
    this.#closing ??= Promise.all([...this.#entries.values()].map((entry) => this.#end(entry)));
    for (const wake of [...this.#waiting]) wake();
    await this.#closing;
  }

  #add(key: string, capabilities: CallContext['capabilities']): LinkEntry {
    const { open, oneByOne, onLost } = this.#options;
    const running = new Set<CallContext>();
    const stop = new AbortController();
    const link = open(capabilities, running, stop.signal, key);
    const gate = oneByOne ? createGate({ limit: 1, maxWaiting: mostWaiting, onFull: tooMany }) : undefined;
    const entry: LinkEntry = {
      key,
      link,
      opened: undefined,
      running,
      users: 0,
      stop,
      gate,
      cancelIdle: () => {},
      ended: undefined,
    };
    this.#entries.set(key, entry);
    const closed = link.then((opened) => {
      entry.opened = opened;
      return opened.closed;
    });
    closed.then(onLost, () => undefined).finally(() => this.#end(entry));
    return entry;
  }

  #end(entry: LinkEntry): Promise<void> {
    if (entry.ended !== undefined) return entry.ended;
    const ended = this.#drop(entry);
    this.#wakeOne();
    return ended;
  }

  /** Ends it for somebody who takes its place at once. */
  #drop(entry: LinkEntry): Promise<void> {
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
    entry.cancelIdle();
    entry.stop.abort(new Error('The session ended'));
    entry.ended = entry.link.then((link) => link.end()).catch(() => undefined);
    return entry.ended;
  }

  #rest(entry: LinkEntry): void {
    if (entry.users > 0 || this.#entries.get(entry.key) !== entry) return;
    this.#wakeOne();
    entry.cancelIdle = this.#options.clock.after(this.#options.idleMs, () => {
      if (entry.opened?.held === true) this.#rest(entry);
      else void this.#end(entry);
    });
  }

  /** Ends the longest unused link when there are too many; one that is held only when there is no other. */
  #makeRoom(): boolean {
    if (this.#entries.size < this.#options.max) return true;
    const unused = [...this.#entries.values()].filter(({ users }) => users === 0);
    const chosen = unused.find(({ opened }) => opened?.held !== true) ?? unused[0];
    if (chosen !== undefined) void this.#drop(chosen);
    return chosen !== undefined;
  }

  #roomOrAbort(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= mostWaiting) throw tooMany();
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        this.#waiting.delete(go);
        signal.removeEventListener('abort', onAbort);
        settle();
      };
      const go = () => finish(resolve);
      const onAbort = () => finish(() => reject(signal.reason));
      this.#waiting.add(go);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #wakeOne(): void {
    const [first] = this.#waiting;
    first?.();
  }
}

function closed(): AgentServerError {
  return new AgentServerError('UpstreamLost', 'The MCP server of this agent is gone');
}

function tooMany(): RpcError {
  return new RpcError(errorCodes.internal, `More than ${mostWaiting} calls wait; try again later`);
}
