import type { Log } from '#kit/log.ts';
import { askableCapabilities, canBeAsked } from '#mcp/bridge/capabilities.ts';
import { errorForEra } from '#mcp/bridge/errors.ts';
import { latestSessionRevision } from '#mcp/eras.ts';
import { type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { sharedSession, userOf } from '../bridge/bridge.ts';
import type { CallContext } from '../source.ts';
import type { UpstreamConnection } from './connection.ts';
import { isStateless, servedEra } from './handshake.ts';
import { createHeldResources, type HeldResource } from './held-resources.ts';

/** What clients want to hear changes of, whichever era they and the upstream are of. */
export interface ResourceWatch {
  /** resources/subscribe and resources/unsubscribe of a client with sessions. */
  request(method: string, params: Params, context: CallContext): Promise<Result>;
  /** As Source.watch. */
  watch(uris: readonly string[], context: CallContext): Promise<Watched>;
  endSession(session: string): void;
  /** Tells a new connection everything again. */
  replay(connection: UpstreamConnection): Promise<void>;
}

export interface Watched {
  /** Those that the upstream tells changes of. */
  readonly uris: readonly string[];
  end(): void;
}

export interface ResourceWatchOptions {
  readonly log: Log;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  connection(signal: AbortSignal): Promise<UpstreamConnection>;
}

export function createResourceWatch({
  log,
  timeoutMs,
  signal,
  connection,
}: ResourceWatchOptions): ResourceWatch {
  const held = createHeldResources();
  let watches = 0;

  async function begin(uri: string, context: CallContext, holder: string): Promise<Result> {
    const upstream = await connection(context.signal);
    const resource = { uri, ...placeOf(upstream, context) };
    // Held before it is told, so that another's end meanwhile does not unsubscribe.
    const begins = held.add(resource, holder);
    try {
      return await tell(upstream, 'resources/subscribe', resource, context.signal, context.token);
    } catch (error) {
      if (begins) held.remove(resource, holder);
      throw error;
    }
  }
  function tell(
    upstream: UpstreamConnection,
    method: 'resources/subscribe' | 'resources/unsubscribe',
    { uri, context }: HeldResource,
    stop: AbortSignal,
    token?: string,
  ): Promise<Result> {
    if (isStateless(upstream.info)) return listenTo(upstream, method, uri);
    return upstream.request(
      method,
      { uri },
      { signal: stop, timeoutMs, context: { ...context, signal: stop, token } },
    );
  }
  /** Best effort: a notification that nobody waits for is dropped here anyway. */
  function forget(resource: HeldResource): void {
    connection(signal)
      .then(async (upstream) => {
        if (!held.has(resource)) await tell(upstream, 'resources/unsubscribe', resource, signal);
      })
      .catch(() => undefined);
  }
  async function stop(uri: string, context: CallContext, holder: string): Promise<Result> {
    const upstream = await connection(context.signal);
    const resource = { uri, ...placeOf(upstream, context) };
    held.remove(resource, holder);
    if (held.has(resource)) return {};
    return tell(upstream, 'resources/unsubscribe', resource, context.signal, context.token);
  }
  return {
    async request(method, params, context) {
      const holder = context.session ?? '';
      const uri = String(params['uri']);
      try {
        return await (method === 'resources/subscribe' ? begin : stop)(uri, context, holder);
      } catch (error) {
        throw error instanceof RpcError ? errorForEra(context.era, method, error) : error;
      }
    },
    async watch(uris, context) {
      watches += 1;
      const holder = `watch-${watches}`;
      const begun = await Promise.allSettled(uris.map((uri) => begin(uri, context, holder)));
      const end = () => held.drop(holder).forEach(forget);
      return { uris: uris.filter((_uri, index) => begun[index]?.status === 'fulfilled'), end };
    },
    endSession(session) {
      for (const resource of held.drop(session)) if (resource.link !== session) forget(resource);
    },
    async replay(upstream) {
      for (const resource of held.all()) {
        await tell(upstream, 'resources/subscribe', resource, signal).catch((error: unknown) =>
          log.warn('A resource cannot be subscribed to again', { uri: resource.uri, error }),
        );
      }
    },
  };
}

async function listenTo(upstream: UpstreamConnection, method: string, uri: string): Promise<Result> {
  if (method === 'resources/subscribe') await upstream.subscribe(uri);
  else upstream.unsubscribe(uri);
  return {};
}

/** In which upstream session a client's resources are subscribed to: that of its calls. */
function placeOf({ info }: UpstreamConnection, context: CallContext): Pick<HeldResource, 'link' | 'context'> {
  const shared = {
    ...silent,
    era: 'sessions',
    session: undefined,
    headers: {},
    claims: undefined,
    capabilities: {},
  } as const;
  const { capabilities } = context;
  const serves = servedEra(info, 'sessions');
  if (serves === 'stateless' || !canBeAsked(capabilities)) return { link: '', context: shared };
  const session =
    context.era === 'sessions'
      ? context.session
      : sharedSession(userOf(context), askableCapabilities(capabilities));
  if (session === undefined || (context.era === 'sessions' && context.ask === undefined)) {
    return { link: '', context: shared };
  }
  return {
    link: session,
    context: { ...shared, session, capabilities: askableCapabilities(capabilities), ask: refuseToAsk },
  };
}

const silent = {
  revision: latestSessionRevision,
  requestId: 0,
  token: undefined,
  signal: new AbortController().signal,
  onProgress: undefined,
  logLevel: undefined,
  onLog: () => undefined,
};

/** Subscribing is no call in which a client can be asked. */
export function refuseToAsk(): Promise<Result> {
  return Promise.reject(new RpcError(-32_603, 'No call of the client runs that could be asked'));
}
