import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { JsonRpcNotification, Params } from '#mcp/jsonrpc.ts';
import { type Bridge, createBridge } from '../bridge/bridge.ts';
import { createBroadcast } from '../broadcast.ts';
import type { Settings } from '../config/settings.ts';
import { forwardedMeta } from '../mcp/call-context.ts';
import type { Gate } from '../queue/gate.ts';
import {
  type CallContext,
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

export interface UpstreamSourceOptions {
  readonly open: OpenConnection;
  /** Principal of the agent and uid of this instance. */
  readonly agent: string;
  readonly instance: string;
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
  let catalog = emptyCatalog;
  let status: SourceStatus = { ready: false, reason: 'Starting', message: 'The MCP server is being started' };

  function setStatus(next: SourceStatus): void {
    if (next.ready === status.ready && next.message === status.message) return;
    status = next;
    changes.tell({ type: 'status' });
  }
  async function refresh(connection: UpstreamConnection): Promise<void> {
    const call = { signal: keeper.signal, timeoutMs: settings.upstreamStartMs, context: undefined };
    catalog = await readCatalog(connection, call);
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
  function onNotification({ method, params }: JsonRpcNotification): void {
    if (method.endsWith('/list_changed')) refreshSoon();
    else if (method === 'notifications/resources/updated' && typeof params?.['uri'] === 'string') {
      changes.tell({ type: 'resource', uri: params['uri'] });
    } else if (method === 'notifications/elicitation/complete') bridge.drop('elicitationComplete');
    else if (method === 'notifications/message') bridge.drop('log');
  }
  const keeper = createKeeper({
    ...options,
    events: { onNotification },
    async prepare(connection) {
      await refresh(connection);
      void watch.replay(connection);
    },
    onUp: () => setStatus({ ready: true, reason: 'Ready', message: '' }),
    onDown: (message, code) => setStatus({ ready: false, reason: reasonOf(code), message }),
  });
  const watch = createResourceWatch({
    log,
    timeoutMs: settings.upstreamStartMs,
    connection: (signal) => keeper.get(signal),
    signal: keeper.signal,
  });

  const pass = createPass(options, bridge, keeper);
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
      const leave = await options.gate.enter(context.signal);
      try {
        const serve = subscribing.has(method) ? watch.request : pass;
        return await serve(method, params, context);
      } finally {
        leave();
      }
    },
    watch: (uris, context) => watch.watch(uris, context),
    endSession(session) {
      watch.endSession(session);
      const ended = keeper.get(keeper.signal).then((connection) => connection.endSession?.(session));
      ended.catch(() => undefined);
    },
    async close() {
      bridge.close();
      await keeper.close();
    },
  };
}

const subscribing: ReadonlySet<string> = new Set(['resources/subscribe', 'resources/unsubscribe']);

/** Sends a request in the client's own era, or over the bridge. */
function createPass({ settings }: UpstreamSourceOptions, bridge: Bridge, keeper: Keeper): Source['request'] {
  return async (method, params, context) => {
    const connection = await keeper.get(context.signal);
    // A call in rounds may outlive the connection that its first round went to.
    const send = async (sent: Params, by: CallContext) => {
      const current = await keeper.get(by.signal);
      const call = { signal: by.signal, timeoutMs: settings.upstreamTimeoutMs, context: by };
      return current.request(method, withOwnMeta(sent), call);
    };
    if (servedEra(connection.info, context.era) === context.era) return send(params, context);
    await connection.findEras?.();
    const served = servedEra(connection.info, context.era);
    if (served === context.era) return send(params, context);
    const { oneByOne = false } = connection;
    return bridge.request({ era: served, oneByOne }, method, params, context, send);
  };
}
function reasonOf(code: string | undefined): string {
  return code === 'UpstreamNotAllowed' || code === 'UpstreamUnauthorized' ? code : 'UpstreamNotReady';
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
