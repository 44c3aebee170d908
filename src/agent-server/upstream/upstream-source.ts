import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import { errorCodes, type JsonRpcNotification, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { isLogLevel } from '#mcp/types.ts';
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
import { createKeeper } from './keeper.ts';

export interface UpstreamSourceOptions {
  readonly open: OpenConnection;
  readonly settings: Settings;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * The tools, resources and prompts of one MCP server, passed through unchanged. The server is connected to
 * again whenever it is lost; calls in flight then fail, later ones wait for the next connection.
 */
export function createUpstreamSource(options: UpstreamSourceOptions): Source {
  const { log, settings } = options;
  const changes = createBroadcast<SourceChange>();
  const inFlight = new Set<CallContext>();
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
  function onNotification({ method, params }: JsonRpcNotification): void {
    if (method.endsWith('/list_changed')) {
      const read = keeper.get(keeper.signal).then(refresh);
      read.catch((error: unknown) => log.warn('The lists cannot be read again', { error }));
    } else if (method === 'notifications/resources/updated' && typeof params?.['uri'] === 'string') {
      changes.tell({ type: 'resource', uri: params['uri'] });
    } else if (method === 'notifications/message') passLog(params ?? {}, inFlight);
  }
  const keeper = createKeeper({
    ...options,
    events: { onNotification },
    prepare: refresh,
    onUp: () => setStatus({ ready: true, reason: 'Ready', message: '' }),
    onDown: (reason) => setStatus({ ready: false, reason: 'UpstreamNotReady', message: reason }),
  });
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
      inFlight.add(context);
      try {
        const connection = await keeper.get(context.signal);
        const call = { signal: context.signal, timeoutMs: settings.upstreamTimeoutMs, context };
        return fitEra(await connection.request(method, withOwnMeta(params), call), context);
      } finally {
        inFlight.delete(context);
        leave();
      }
    },
    endSession(session) {
      const ended = keeper.get(keeper.signal).then((connection) => connection.endSession?.(session));
      ended.catch(() => undefined);
    },
    close: () => keeper.close(),
  };
}

/** Logs of a shared server name no call: they belong to the only one that runs, else to nobody. */
function passLog(params: Params, inFlight: ReadonlySet<CallContext>): void {
  const [only] = inFlight;
  const { level, data, logger } = params;
  if (inFlight.size !== 1 || only === undefined || !isLogLevel(level)) return;
  only.onLog(level, data, typeof logger === 'string' ? logger : undefined);
}

function withOwnMeta(params: Params): Params {
  if (params['_meta'] === undefined) return params;
  const meta = forwardedMeta(params);
  const { _meta: _replaced, ...rest } = params;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

/** A question of a server of 2026-07-28 cannot be put to a client of the sessions era on a shared connection. */
function fitEra(result: Result, { era }: CallContext): Result {
  if (era === 'stateless' || result['resultType'] === undefined || result['resultType'] === 'complete')
    return result;
  throw new RpcError(
    errorCodes.internal,
    'The tool asks the client a question, which needs a client of revision 2026-07-28',
  );
}
