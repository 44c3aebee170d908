import { createServer, type Server } from 'node:http';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Redactor } from '#kit/redact.ts';
import { type Activity, watchActivity } from './activity.ts';
import { announceAll } from './announce-all.ts';
import { bringNamed } from './blobs/bring-named.ts';
import { keepResults } from './blobs/kept-results.ts';
import { ttlWithin } from './blobs/limits.ts';
import { publisher } from './blobs/publish.ts';
import { withBlobs } from './blobs/resources.ts';
import { type Blobs, openBlobs } from './blobs/service.ts';
import { type BuiltSource, buildSource, type SourceOptions } from './build-source.ts';
import { forInstance } from './config/agent-config.ts';
import { podSettings, readSettings, type Settings } from './config/settings.ts';
import { type HeldKeys, holdKeys } from './held-keys.ts';
import { createApp, type Routes } from './http/app.ts';
import { createChanges, type StateLine } from './http/changes.ts';
import { currentLines } from './http/current-lines.ts';
import { isOpenToOthers, type ListenTarget, listen } from './http/listen.ts';
import { createGuard } from './mcp/guard.ts';
import { createSubscriptions } from './mcp/listen.ts';
import { createListing, type Listing } from './mcp/listing.ts';
import type { McpServices } from './mcp/services.ts';
import { createSessions } from './mcp/sessions.ts';
import { openForwards } from './process/forward.ts';
import { type MainProcess, superviseMainProcess } from './process/main-process.ts';
import { type AgentQueueOptions, openAgentQueue } from './queue/agent-queue.ts';
import { routesOf } from './routes.ts';
import { countRequests, isBusy, shutDown } from './shut-down.ts';
import type { Source } from './source.ts';
import { createEventIds } from './streams/event-ids.ts';
import { KeptStreams } from './streams/kept-streams.ts';
import { startSpawner } from './tools/spawner-client.ts';
import type { Visit } from './upstream/remote/login/login-tokens.ts';
import { holdUpstreamSecrets } from './upstream/remote/secrets.ts';

export interface AgentServerOptions {
  readonly config: AgentServerConfig;
  readonly listen: ListenTarget;
  /** Program and arguments that run the spawner. */
  readonly spawnerCommand: readonly [string, ...string[]];
  /** Starts a thread that serves the store of the agent's tasks. Not called for agents without tasks. */
  readonly startQueueThread: AgentQueueOptions['startThread'];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** What is taken out of the logs of tasks; the log itself comes without. Default: nothing. */
  readonly redactor?: () => Redactor;
  /** Frees what died young; called after some MiB of uploads. Default: it is left to the runtime. */
  readonly reclaim?: (() => void) | undefined;
  /** Asks for no tokens at all. Development only: whoever reaches the socket may call every tool. */
  readonly withoutTokens?: boolean;
  /** The browser of the one person for whom everything is asked, where that person logs in at a remote upstream. */
  readonly visit?: Visit | undefined;
}

export interface AgentServer {
  /** Where it listens, as text for people. */
  readonly address: string;
  /** Resolves when the tools are known, or known to be unavailable. */
  readonly settled: Promise<void>;
  /** What is kept for clients that come back. */
  readonly streams: Pick<KeptStreams, 'size' | 'bytes'>;
  /**
   * Takes up the keys, the forwards and the secrets of a remote upstream of a new configuration of the same agent;
   * everything else of it waits for a restart. Throws InvalidConfig or InvalidKey, and then changes nothing.
   */
  reconfigure(config: AgentServerConfig): void;
  /** Serves on for `drainDelayMs`, lets calls and tasks finish for `drainMs`, then ends everything. */
  close(): Promise<void>;
}

/** Starts one agent-server. It listens before its tools are known; `GET /changes` tells when they are. */
export async function startAgentServer(options: AgentServerOptions): Promise<AgentServer> {
  const { config, clock, random, log } = options;
  forInstance(config, undefined);
  const settings = readSettings(config.limits, isOpenToOthers(options.listen) ? podSettings : {});
  const spawner = startSpawner({ command: options.spawnerCommand, clock, random, log });
  const forwards = await openForwards(config.forwards, log);
  const mainProcess = startMainProcess(options, settings);
  const { queue, onLogTailBytes } = openQueue(options, settings);
  const keys = holdKeys(options);
  const { current: upstreamSecrets, use: useSecrets } = holdUpstreamSecrets(config);
  const blobs = openBlobs({ ...options, settings, secrets: upstreamSecrets });
  const { source, tasks, logins, keysChanged } = await buildWithBlobs(blobs, {
    ...options,
    ...{ settings, spawner, queue, onLogTailBytes },
    keys: keys.current,
    upstreamSecrets,
  });
  const services = createServices(options, settings, source, keys);
  let stopping = false;
  let activity: Activity | undefined;
  const status = () => (stopping ? stopped : source.status);
  const changes = createChanges({
    clock,
    guard: services.guard,
    instance: config.agent.instance,
    maxStreams: settings.maxStreams,
    maxUnreadBytes: settings.maxUnreadChangesBytes,
    state: () => ({ ...stateOf(source, services.listing()), ...status(), idle: activity?.idle ?? false }),
    beginning: () => currentLines(tasks, settings.maxTrackedTasks),
  });
  const announcing = announceAll({ services, changes, tasks, clock, log, settings });
  const quiet = async () => activity?.quiet(settings.drainDelayMs, settings.drainMs);
  const known = { changes, keys, status, quiet, useSecrets, blobs, logins };
  const routes = routesOf({ config, services, tasks, ...known });
  const server = createHttpServer(routes, log);
  const requests = countRequests(server);
  activity = watchActivity({
    server,
    clock,
    idleAfterMs: settings.idleAfterMs,
    isBusy: async () => services.streams.running > 0 || isBusy(queue),
    onChange: changes.update,
  });
  const address = await listen(server, options.listen);
  log.info('The agent-server listens', { address, agent: config.agent.principal });
  return {
    address,
    settled: source.settled,
    streams: services.streams,
    reconfigure(next) {
      keys.use(next);
      keysChanged?.();
      forwards.use(next.forwards);
      useSecrets(next.upstream);
    },
    async close() {
      stopping = true;
      activity?.close();
      await shutDown({ server, requests, source, services, changes, queue, ...announcing, settings, clock });
      await mainProcess?.stop();
      forwards.close();
      blobs.close();
      await spawner.close();
    },
  };
}

/** What it says of itself once it was asked to end. */
const stopped = { ready: false, reason: 'Stopping', message: 'The agent-server stops.' };

/** The source, with blobs as resources; large results of tasks are blobs. */
async function buildWithBlobs(blobs: Blobs, options: SourceOptions): Promise<BuiltSource> {
  const { config, settings, log } = options;
  const { name: agent } = config.agent;
  const publish = publisher(blobs, agent, config.paths.workspace);
  const built = await buildSource({ ...options, publish });
  const ttlSeconds = ttlWithin(Math.ceil(settings.taskRetentionMs / 1000), blobs.limits);
  const brought = bringNamed(built, blobs, agent);
  const { store, slot } = blobs;
  const tasks = keepResults(brought.tasks, { store, agent, slot, ttlSeconds, clock: options.clock, log });
  return { ...built, source: withBlobs(brought.source, blobs, agent), tasks };
}

/** The queue, and what takes how much of a task's log it keeps. */
function openQueue(options: AgentServerOptions, settings: Settings) {
  const { config, clock, random, log } = options;
  let logTailBytes = settings.taskLogTailBytes;
  const queue = openAgentQueue({
    ...{ clock, random, log, settings, paths: config.paths, logTailBytes: () => logTailBytes },
    redactor: options.redactor,
    startThread: options.startQueueThread,
  });
  const onLogTailBytes = (bytes: number) => {
    logTailBytes = bytes;
  };
  return { queue, onLogTailBytes };
}

/** The agent's own process, which runs beside the tools: it may be their upstream. */
function startMainProcess(options: AgentServerOptions, settings: Settings): MainProcess | undefined {
  const { config } = options;
  if (config.command === undefined || config.command.length === 0) return undefined;
  return superviseMainProcess({
    ...options,
    command: config.command,
    cwd: config.paths.code,
    env: config.env,
    graceMs: settings.killGraceMs,
  });
}

function createServices(
  options: AgentServerOptions,
  settings: Settings,
  source: Source,
  { verifier, current }: HeldKeys,
): McpServices {
  const { clock, random } = options;
  const { principal, instance } = options.config.agent;
  const ids = createEventIds({ agent: principal, instance, keys: current });
  const streams = new KeptStreams({ clock, random, ids, settings });
  let listing: Listing | undefined;
  source.onChange((change) => {
    if (change.type === 'catalog') listing = undefined;
  });
  return {
    source,
    settings,
    clock,
    guard: createGuard(options.withoutTokens === true ? undefined : verifier),
    sessions: createSessions({
      clock,
      random,
      instance,
      maxSessions: settings.maxSessions,
      idleMs: settings.sessionIdleMs,
      onEnd({ id, key }) {
        streams.endSession(key);
        source.endSession?.(id);
      },
    }),
    subscriptions: createSubscriptions({ clock, ...settings }),
    streams,
    listing: () => {
      listing ??= createListing(source.catalog);
      return listing;
    },
  };
}

function createHttpServer(routes: Routes, log: Log): Server {
  return createServer(
    {
      headersTimeout: 10_000,
      // Uploads may take long: each body that is read has a limit of its own.
      requestTimeout: 0,
      connectionsCheckingInterval: 5000,
      // Routers keep connections for the next call.
      keepAliveTimeout: 120_000,
    },
    createApp(routes, log),
  );
}

function stateOf(source: Source, listing: Listing): Omit<StateLine, 'idle'> {
  return {
    type: 'state',
    ...source.status,
    toolCount: source.catalog.tools.length,
    toolsDigest: listing.digests.tools,
    ...(listing.tools !== undefined && { tools: listing.tools }),
    hidden: listing.hidden,
    lists: listing.digests,
  };
}
