import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Params } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { CallContext } from '../source.ts';
import { type ClientLink, LinkTable } from './client-links.ts';
import {
  type ConnectionEvents,
  eventsOf,
  type OpenConnection,
  type UpstreamCall,
  type UpstreamConnection,
  type UpstreamInfo,
} from './connection.ts';
import { isStateless } from './handshake.ts';
import { createRunningTasks, notingTasks } from './running-tasks.ts';
import { createSessionClients, type SessionClients } from './session-clients.ts';
import { createSessionMemory, type SessionMemory } from './session-memory.ts';
import { createStartPace, type StartPace } from './start-pace.ts';
import { type StdioOptions, type StdioProcess, startStdioProcess } from './stdio-process.ts';

export interface StdioUpstreamOptions extends StdioOptions {
  /** Processes of single clients at once. */
  readonly maxProcesses: number;
  /** Milliseconds until one that nobody uses ends. */
  readonly processIdleMs: number;
}

/**
 * An MCP server as a child process that speaks on stdin and stdout: one process that all share, one for each client
 * that can be asked if the server has sessions, and one for clients of 2026-07-28 if it has both eras. The latter
 * outlive the shared one.
 */
export function stdioConnector(options: StdioUpstreamOptions): OpenConnection {
  let others: Others | undefined;
  return async (events, signal) => {
    const shared = await startStdioProcess(options, { events, signal, era: 'any' });
    if (isStateless(shared.info)) return statelessConnection(shared);
    others ??= createOthers(options, events, signal);
    return sessionsConnection(shared, others);
  };
}

/** A server of 2026-07-28 says what it asks in its results, so that all clients share one process. */
function statelessConnection(shared: StdioProcess): UpstreamConnection {
  return {
    info: { ...shared.info, stateless: shared.info },
    closed: shared.closed,
    request: shared.request,
    listen: shared.listen,
    subscribe: async (uri) => shared.listener?.add(uri),
    unsubscribe: (uri) => shared.listener?.remove(uri),
    close: () => shared.close(),
  };
}

/** Processes beside the shared one of a server with sessions. */
interface Others {
  readonly clients: SessionClients;
  readonly modern: Modern;
  /** Until they have ended, once that was begun; only the end of the agent-server begins it. */
  readonly closing: Promise<unknown> | undefined;
}

function createOthers(options: StdioUpstreamOptions, events: ConnectionEvents, signal: AbortSignal): Others {
  const clients = createClients(options, events);
  const modern = createModern(options, events);
  let closing: Promise<unknown> | undefined;
  const close = () => {
    closing = Promise.all([clients.close(), modern.close()]);
  };
  signal.addEventListener('abort', close, { once: true });
  return {
    clients,
    modern,
    get closing() {
      return closing;
    },
  };
}

function sessionsConnection(shared: StdioProcess, others: Others): UpstreamConnection {
  const { clients, modern } = others;
  let info = { ...shared.info, stateless: modern.info };
  return {
    get info() {
      return info;
    },
    closed: shared.closed,
    oneByOne: true,
    request(method, params, call) {
      const { context } = call;
      if (context?.era === 'stateless' && info.stateless !== undefined)
        return modern.request(method, params, call, context);
      return clients.request(method, params, call) ?? shared.request(method, params, call);
    },
    async findEras() {
      const stateless = await modern.find();
      if (info.stateless !== stateless) info = { ...info, stateless };
    },
    subscribe: async () => undefined,
    unsubscribe: () => undefined,
    endSession: clients.end,
    async close() {
      await Promise.all([shared.close(), others.closing]);
    },
  };
}

/**
 * Processes of one client each, started with growing pauses while they end by themselves. The next one of the same
 * client is told what the one before it was told.
 */
function createClients(options: StdioUpstreamOptions, events: ConnectionEvents): SessionClients {
  const pace = createStartPace(options.clock);
  const memories = new Map<string, SessionMemory>();
  const clients = createSessionClients({
    clock: options.clock,
    idleMs: options.processIdleMs,
    max: options.maxProcesses,
    oneByOne: true,
    async open(capabilities, answer, signal, session) {
      await pace.due(signal);
      const memory = memories.get(session) ?? createSessionMemory();
      const own = { events: eventsOf(session, events), capabilities, answer, memory };
      const opening = { ...own, signal, era: 'any' } as const;
      const process = await startStdioProcess(options, opening).catch((error: unknown) => {
        if (!signal.aborted) pace.failed(messageOf(error));
        throw error;
      });
      if (!signal.aborted) memories.set(session, memory);
      void process.closed.then(() => {
        if (memory.uris.size === 0 && memories.get(session) === memory) memories.delete(session);
      });
      await tellAgain(process, { signal, timeoutMs: options.startMs, context: undefined });
      return linkOf(process, pace, options.clock);
    },
  });
  const end = (session: string) => {
    memories.delete(session);
    clients.end(session);
  };
  return { ...clients, end };
}

/** Best effort: a resource that is gone is no reason to serve no calls. */
async function tellAgain(process: StdioProcess, call: UpstreamCall): Promise<void> {
  for (const { method, params } of process.memory.replay())
    await process.request(method, params, call).catch(() => undefined);
}

function linkOf(process: StdioProcess, pace: StartPace, clock: Clock): ClientLink {
  const tasks = createRunningTasks(clock);
  const lost = pace.started();
  let wanted = true;
  void process.closed.then((reason) => (wanted ? lost(reason) : pace.succeeded()));
  return {
    request: notingTasks(tasks, process.request),
    closed: process.closed,
    get held() {
      return process.memory.uris.size > 0 || tasks.any;
    },
    end() {
      wanted = false;
      return process.close();
    },
  };
}

/** The process that serves clients of 2026-07-28 of a server that has both eras; there while it is used. */
interface Modern {
  /** What the server says to these clients, as far as it was found out and it serves them. */
  readonly info: UpstreamInfo | undefined;
  /** Finds that out, once. */
  find(): Promise<UpstreamInfo | undefined>;
  request(method: string, params: Params, call: UpstreamCall, context: CallContext): Promise<Result>;
  close(): Promise<void>;
}

function createModern(options: StdioUpstreamOptions, events: ConnectionEvents): Modern {
  const key = 'stateless';
  const pace = createStartPace(options.clock);
  const never = new AbortController().signal;
  let info: UpstreamInfo | undefined;
  let finding: Promise<UpstreamInfo | undefined> | undefined;
  const table = new LinkTable({
    clock: options.clock,
    idleMs: options.processIdleMs,
    max: 1,
    oneByOne: false,
    async open(_capabilities, _running, signal) {
      await pace.due(signal);
      const process = await startStdioProcess(options, { events, signal, era: 'stateless' });
      info = process.info;
      return linkOf(process, pace, options.clock);
    },
  });
  async function find(): Promise<UpstreamInfo | undefined> {
    try {
      await table.open(key, {}, never, ({ link }) => link);
    } catch {
      // A server of one era, which is served over the bridge.
    }
    return info;
  }
  return {
    get info() {
      return info;
    },
    find() {
      finding ??= find();
      return finding;
    },
    async request(method, params, call, context) {
      return table.open(key, {}, call.signal, (entry) => table.use(entry, method, params, call, context));
    },
    close: () => table.close(),
  };
}
