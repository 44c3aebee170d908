import { createServer, type Server } from 'node:http';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import { proofPath } from '#wire/challenge.ts';
import type { WireKey } from '#wire/keys.ts';
import { createReplayWindow } from '#wire/replay.ts';
import { createVerifier } from '#wire/token.ts';
import { buildSource } from './build-source.ts';
import { readSettings, type Settings } from './config/settings.ts';
import { AgentServerError } from './errors.ts';
import { apiProxy } from './http/api-proxy.ts';
import { createApp, type Routes } from './http/app.ts';
import { type Changes, createChanges, type StateLine } from './http/changes.ts';
import { type ListenTarget, listen } from './http/listen.ts';
import { staticFiles } from './http/static-files.ts';
import { proofHandler, serveHealth, taskStatusHandler } from './http/surfaces.ts';
import { announceChanges } from './mcp/announce.ts';
import { serveMcp } from './mcp/endpoint.ts';
import { createGuard } from './mcp/guard.ts';
import { createSubscriptions } from './mcp/listen.ts';
import { createListing, type Listing } from './mcp/listing.ts';
import type { McpServices } from './mcp/services.ts';
import { createSessions } from './mcp/sessions.ts';
import { openForwards } from './process/forward.ts';
import { type MainProcess, superviseMainProcess } from './process/main-process.ts';
import { createMemoryQueue } from './queue/memory-queue.ts';
import type { TaskQueue } from './queue/queue.ts';
import type { Source } from './source.ts';
import { startSpawner } from './tools/spawner-client.ts';

export interface AgentServerOptions {
  readonly config: AgentServerConfig;
  readonly listen: ListenTarget;
  /** Program and arguments that run the spawner. */
  readonly spawnerCommand: readonly [string, ...string[]];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Asks for no tokens at all. Development only: whoever reaches the socket may call every tool. */
  readonly withoutTokens?: boolean;
}

export interface AgentServer {
  /** Where it listens, as text for people. */
  readonly address: string;
  /** Resolves when the tools are known, or known to be unavailable. */
  readonly settled: Promise<void>;
  /** Takes no more requests, lets running ones finish for a while, then ends everything. */
  close(): Promise<void>;
}

/** Starts one agent-server. It listens before its tools are known; `GET /changes` tells when they are. */
export async function startAgentServer(options: AgentServerOptions): Promise<AgentServer> {
  const { config, clock, random, log } = options;
  const settings = readSettings(config.limits);
  const spawner = startSpawner({ command: options.spawnerCommand, clock, random, log });
  const closeForwards = await openForwards(config.forwards, log);
  const mainProcess = startMainProcess(options, settings);
  let logTailBytes = settings.taskLogTailBytes;
  const queue = createMemoryQueue({
    clock,
    random,
    logTailBytes: () => logTailBytes,
    maxFinished: settings.maxFinishedTasks,
    maxPending: settings.maxQueuedCalls,
  });
  const onLogTailBytes = (bytes: number) => {
    logTailBytes = bytes;
  };
  const source = buildSource({ ...options, settings, spawner, queue, onLogTailBytes });
  const services = createServices(options, settings, source);
  const changes = createChanges({
    clock,
    guard: services.guard,
    instance: config.agent.instance,
    maxStreams: settings.maxStreams,
    state: () => stateOf(source, services.listing()),
  });
  const stopAnnouncing = announceChanges(services, changes);
  const server = createHttpServer(routesOf(options, services, queue, changes), log);
  const requests = countRequests(server);
  const address = await listen(server, options.listen);
  log.info('The agent-server listens', { address, agent: config.agent.principal });
  return {
    address,
    settled: source.settled,
    async close() {
      await shutDown({ server, requests, source, services, changes, queue, stopAnnouncing, settings, clock });
      await mainProcess?.stop();
      closeForwards();
      await spawner.close();
    },
  };
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

function createServices(options: AgentServerOptions, settings: Settings, source: Source): McpServices {
  const { config, clock, random } = options;
  const replay = createReplayWindow({ clock });
  const { principal: audience, instance } = config.agent;
  const verifier = createVerifier({ keys: readKeys(config), audience, instance, clock, replay });
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
      maxSessions: settings.maxSessions,
      idleMs: settings.sessionIdleMs,
    }),
    subscriptions: createSubscriptions({ clock, ...settings }),
    listing: () => {
      listing ??= createListing(source.catalog);
      return listing;
    },
  };
}

function readKeys(config: AgentServerConfig): WireKey[] {
  return config.keys.map(({ kid, secret }) => {
    const bytes = Buffer.from(secret, 'base64url');
    if (bytes.length < 32) throw new AgentServerError('InvalidConfig', `keys: ${kid} has less than 32 bytes`);
    return { kid, secret: bytes };
  });
}

function routesOf(
  options: AgentServerOptions,
  services: McpServices,
  queue: TaskQueue,
  changes: Changes,
): Routes {
  const { config } = options;
  const [key] = readKeys(config);
  if (key === undefined) throw new AgentServerError('InvalidConfig', 'keys: at least one is needed');
  return {
    exact: new Map([
      ['/mcp', (request, response) => serveMcp(request, response, services)],
      ['/health', serveHealth],
      ['/getTaskStatus', taskStatusHandler(queue, services.guard)],
      [proofPath, proofHandler(key, config.agent.instance)],
      ['/changes', changes.handler],
    ]),
    prefixes: [
      ['/api/', apiProxy({ guard: services.guard, port: apiPort(config) })],
      ['/static/', staticFiles({ guard: services.guard, folder: config.paths.code })],
    ],
  };
}

/** Where the agent's own HTTP server listens: its upstream's port, else `PORT` of its environment. */
function apiPort({ mcp, env }: AgentServerConfig): number | undefined {
  const upstream = mcp?.['upstream'];
  const named = isObject(upstream) ? upstream['port'] : undefined;
  const port = Number(named ?? env['PORT']);
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

function createHttpServer(routes: Routes, log: Log): Server {
  return createServer(
    {
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      connectionsCheckingInterval: 5000,
      // Routers keep connections for the next call.
      keepAliveTimeout: 120_000,
    },
    createApp(routes, log),
  );
}

function stateOf(source: Source, listing: Listing): StateLine {
  return {
    type: 'state',
    ...source.status,
    toolCount: source.catalog.tools.length,
    toolsDigest: listing.digests.tools,
    lists: listing.digests,
  };
}

interface Running {
  readonly server: Server;
  readonly requests: RequestCount;
  readonly source: Source;
  readonly services: McpServices;
  readonly changes: Changes;
  readonly queue: TaskQueue;
  readonly stopAnnouncing: () => void;
  readonly settings: Settings;
  readonly clock: Clock;
}

async function shutDown(running: Running): Promise<void> {
  const { server, source, services, changes, queue } = running;
  running.stopAnnouncing();
  services.subscriptions.close();
  services.sessions.closeStreams();
  changes.close();
  await drain(server, running.requests, running.settings.drainMs, running.clock);
  services.sessions.close();
  await queue.close();
  await source.close();
  server.closeAllConnections();
}

/**
 * Takes no more connections and lets what runs finish, for so many milliseconds. Requests are counted and
 * not connections: one that a client opened in advance never becomes idle for Node.
 */
async function drain(server: Server, running: RequestCount, drainMs: number, clock: Clock): Promise<void> {
  const end = clock.monotonic() + drainMs;
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'));
  server.close();
  while (running.count > 0 && clock.monotonic() < end) await clock.sleep(20);
}

interface RequestCount {
  count: number;
}

function countRequests(server: Server): RequestCount {
  const running = { count: 0 };
  server.prependListener('request', (_request, response) => {
    running.count += 1;
    response.once('close', () => {
      running.count -= 1;
    });
  });
  return running;
}
