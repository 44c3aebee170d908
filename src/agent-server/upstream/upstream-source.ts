import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import { tasksExtension } from '#mcp/eras.ts';
import { type JsonRpcNotification, type Params, RpcError } from '#mcp/jsonrpc.ts';
import { begunTask } from '#mcp/tasks/rename.ts';
import type { Tool } from '#mcp/types.ts';
import type { WireKey } from '#wire/keys.ts';
import { type Bridge, createBridge, type Send } from '../bridge/bridge.ts';
import { createTasks, isTaskMethod, type SendMethod, type Tasks } from '../bridge/tasks/tasks.ts';
import { type Broadcast, createBroadcast } from '../broadcast.ts';
import type { Settings } from '../config/settings.ts';
import { forwardedMeta } from '../mcp/call-context.ts';
import type { Gate } from '../queue/gate.ts';
import {
  type CallContext,
  type Catalog,
  emptyCatalog,
  type Source,
  type SourceChange,
  type SourceStatus,
} from '../source.ts';
import { readCatalog } from './catalog.ts';
import type { OpenConnection, UpstreamConnection } from './connection.ts';
import { servedEra } from './handshake.ts';
import { createKeeper, type Keeper } from './keeper.ts';
import { createResourceWatch } from './resource-watch.ts';
import { watchTasks } from './task-watch.ts';

export interface UpstreamSourceOptions {
  readonly open: OpenConnection;
  /** Principal of the agent and uid of this instance. */
  readonly agent: string;
  readonly instance: string;
  /** The agent's keys, the current one first. */
  readonly keys: () => readonly WireKey[];
  readonly settings: Settings;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * The tools, resources and prompts of one MCP server, passed through unchanged, or translated for clients of an era
 * that it does not serve. The server is connected to again whenever it is lost; calls in flight then fail, later
 * ones wait for the next connection.
 */
export function createUpstreamSource(options: UpstreamSourceOptions): Source {
  const { log, settings } = options;
  const changes = createBroadcast<SourceChange>();
  const bridge = createBridge(options);
  const tasks = createTasks({ ...options, onDropped: bridge.drop });
  let catalog = emptyCatalog;
  let status: SourceStatus = { ready: false, reason: 'Starting', message: 'The MCP server is being started' };

  function setStatus(next: SourceStatus): void {
    if (isSame(next, status)) return;
    status = next;
    changes.tell({ type: 'status' });
  }
  async function refresh(connection: UpstreamConnection): Promise<void> {
    const call = { signal: keeper.signal, timeoutMs: settings.upstreamStartMs, context: undefined };
    catalog = await readCatalog(connection, call, leftOut(log));
    changes.tell({ type: 'catalog' });
  }
  /** Many sessions tell of the same change, which is read once, or once more when it may have come too late. */
  const refreshSoon = coalesce(async () => {
    try {
      await refresh(await keeper.get(keeper.signal));
    } catch (error) {
      log.warn('The lists cannot be read again', { error });
    }
  });
  const onNotification = hearing({ bridge, tasks, changes, refreshSoon });
  const keeper = createKeeper({
    ...options,
    events: { onNotification },
    async prepare(connection) {
      await refresh(connection);
      void watch.replay(connection);
    },
    onUp: () => setStatus({ ready: true, reason: 'Ready', message: '' }),
    onDown: (reason, code) => setStatus({ ready: false, reason: reasonOf(code), message: shown(reason) }),
  });
  const watch = createResourceWatch({
    log,
    timeoutMs: settings.upstreamStartMs,
    connection: (signal) => keeper.get(signal),
    signal: keeper.signal,
  });

  const pass = createPass({ settings, bridge, keeper, tasks, catalog: () => catalog });
  return {
    settled: keeper.settled,
    get catalog() {
      return catalog;
    },
    get status() {
      return status;
    },
    onChange: changes.listen,
    async request(method, params, context) {
      // Who asks how far a task is, runs nothing.
      if (isTaskMethod(method) || context.admitted === true) return pass(method, params, context);
      const leave = await options.gate.enter(context.signal);
      try {
        const serve = subscribing.has(method) ? watch.request : pass;
        return await serve(method, params, context);
      } finally {
        leave();
      }
    },
    watch: (uris, context) => watch.watch(uris, context),
    async watchTasks(ids, context, tell) {
      const names = new Map(ids.flatMap((id) => ownName(tasks, id, context)));
      const connection = await keeper.get(context.signal);
      return watchTasks({ clock: options.clock, connection, context, names, tell });
    },
    endSession(session) {
      watch.endSession(session);
      const ended = keeper.get(keeper.signal).then((connection) => connection.endSession?.(session));
      ended.catch(() => undefined);
    },
    async close() {
      bridge.close();
      tasks.close();
      await keeper.close();
    },
  };
}

function leftOut(log: Log): (tool: Tool) => void {
  return ({ name }) =>
    log.warn('A tool is left out: an x-mcp-header of its input is not valid', { tool: name });
}

function isSame(one: SourceStatus, other: SourceStatus): boolean {
  return one.ready === other.ready && one.reason === other.reason && one.message === other.message;
}

const mostShown = 1000;

/** Words of a server, as they can stand in a condition. */
function shown(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, mostShown);
}

function reasonOf(code: string | undefined): string {
  if (code === 'InvalidConfig') return 'ConfigInvalid';
  return code === 'UpstreamNotAllowed' || code === 'UpstreamUnauthorized' ? code : 'UpstreamNotReady';
}

const subscribing: ReadonlySet<string> = new Set(['resources/subscribe', 'resources/unsubscribe']);

interface HearingOptions {
  readonly bridge: Bridge;
  readonly tasks: Tasks;
  readonly changes: Broadcast<SourceChange>;
  refreshSoon(): void;
}

/** What an upstream tells that concerns no call. */
function hearing({ bridge, tasks, changes, refreshSoon }: HearingOptions) {
  return ({ method, params = {} }: JsonRpcNotification, session?: string): void => {
    if (method.endsWith('/list_changed')) refreshSoon();
    else if (method === 'notifications/resources/updated' && typeof params['uri'] === 'string') {
      changes.tell({ type: 'resource', uri: params['uri'] });
    } else if (method === 'notifications/tasks/status') {
      const told = tasks.told(params, session);
      if (told !== undefined) changes.tell({ type: 'task', ...told });
    } else if (method === 'notifications/elicitation/complete') bridge.drop('elicitationComplete');
    else if (method === 'notifications/message') bridge.drop('log');
  };
}

interface PassOptions {
  readonly settings: Settings;
  readonly bridge: Bridge;
  readonly keeper: Keeper;
  readonly tasks: Tasks;
  readonly catalog: () => Catalog;
}

/** Sends a request in the client's own era, or over the bridge. */
function createPass({ settings, bridge, keeper, tasks, catalog }: PassOptions): Source['request'] {
  const sendAs: SendMethod = async (method, params, by) => {
    // A call in rounds may outlive the connection that its first round went to.
    const current = await keeper.get(by.signal);
    const timeoutMs = by.timeoutMs ?? settings.upstreamTimeoutMs;
    const call = { signal: by.signal, timeoutMs, context: by };
    return current.request(method, withOwnMeta(params), call);
  };
  return async (method, params, context) => {
    const connection = await keeper.get(context.signal);
    const isOwnEra = () => servedEra(connection.info, context.era) === context.era;
    if (!isOwnEra()) await connection.findEras?.();
    const served = servedEra(connection.info, context.era);
    if (isTaskMethod(method)) return tasks.request(served, method, params, context, sendAs);
    const send: Send = async (sent, by) => {
      const result = await sendAs(method, sent, by);
      if (method !== 'tools/call' || begunTask(result) === undefined) return result;
      return tasks.begun(served, result, context, by, sendAs);
    };
    if (served === context.era) return send(params, context);
    const { oneByOne = false } = connection;
    const over = { era: served, oneByOne };
    if (method !== 'tools/call') return bridge.request(over, method, params, context, send);
    if (served === 'stateless') {
      const awaitsTasks = tasksExtension in catalog().extensions;
      return bridge.request(over, method, params, { ...context, awaitsTasks }, send);
    }
    const tool = catalog().tools.find(({ name }) => name === params['name']);
    return bridge.request(over, method, tasks.forSessions(params, context, tool), context, send);
  };
}

/** A client's task under the server's id; nothing for one that is not the client's. */
function ownName(tasks: Tasks, name: string, context: CallContext): (readonly [string, string])[] {
  try {
    return [[tasks.idOf(name, context), name]];
  } catch (error) {
    if (error instanceof RpcError) return [];
    throw error;
  }
}

function withOwnMeta(params: Params): Params {
  if (params['_meta'] === undefined) return params;
  const meta = forwardedMeta(params);
  const { _meta: _replaced, ...rest } = params;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

/** Runs `work` at once, and once more after it when it was asked for meanwhile. */
function coalesce(work: () => Promise<void>): () => void {
  let state: 'resting' | 'running' | 'again' = 'resting';
  async function run(): Promise<void> {
    do {
      state = 'running';
      await work();
    } while ((state as string) === 'again');
    state = 'resting';
  }
  return () => {
    if (state === 'resting') void run();
    else state = 'again';
  };
}
