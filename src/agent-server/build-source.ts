import { resolve } from 'node:path';
import type { AgentServerConfig, UpstreamSecrets } from '#api/agent-server-config.ts';
import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import type { WireKey } from '#wire/keys.ts';
import type { OpenGiven } from './blobs/publish.ts';
import { roundLimits } from './bridge/rounds.ts';
import { configCandidates } from './config/locate.ts';
import type { Settings } from './config/settings.ts';
import { AgentServerError } from './errors.ts';
import { createGate, type Gate } from './queue/gate.ts';
import type { TaskQueue } from './queue/queue.ts';
import type { Source } from './source.ts';
import type { TaskService } from './tasks/service.ts';
import { sourceTasks } from './tasks/source-tasks.ts';
import { createTaskService } from './tasks/task-service.ts';
import { createConfiguredSource } from './tools/configured-source.ts';
import { pluginsCommandOf } from './tools/plugins-command.ts';
import type { Spawner } from './tools/spawner-client.ts';
import type { OpenConnection } from './upstream/connection.ts';
import { httpConnector } from './upstream/http.ts';
import type { Visit } from './upstream/remote/login/login-tokens.ts';
import type { Logins } from './upstream/remote/people/logins.ts';
import { remoteFor } from './upstream/remote/remote-for.ts';
import { stdioConnector } from './upstream/stdio.ts';
import { createUpstreamSource } from './upstream/upstream-source.ts';

export interface SourceOptions {
  readonly config: AgentServerConfig;
  readonly settings: Settings;
  readonly spawner: Spawner;
  /** How it was started. */
  readonly spawnerCommand: readonly string[];
  readonly queue: TaskQueue;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The agent's keys, the current one first. */
  readonly keys: () => readonly WireKey[];
  /** What a remote upstream is asked with now; another object when it has changed. */
  readonly upstreamSecrets: () => UpstreamSecrets;
  /** As AgentServerOptions. */
  readonly visit?: Visit | undefined;
  /** Gives files of tools to their clients. */
  readonly publish?: OpenGiven | undefined;
  /** Told the log size that the configuration asks for. */
  readonly onLogTailBytes: (bytes: number) => void;
}

export interface BuiltSource {
  readonly source: Source;
  /** Durable executions of its tools. */
  readonly tasks: TaskService;
  /** Logs people in at a remote upstream; undefined: nobody does. */
  readonly logins?: Logins | undefined;
  /** To be told when `keys` gives others than before. */
  readonly keysChanged?: (() => void) | undefined;
}

/** The source that the configuration names: commands inline, commands of a file, or an upstream. */
export async function buildSource(options: SourceOptions): Promise<BuiltSource> {
  const { config, settings, log, clock, spawner, queue } = options;
  const { instance, slot } = config.agent;
  const mcp = config.mcp ?? {};
  const gate = createGate({
    limit: numberIn(mcp, 'maxParallelTasks') ?? settings.maxParallelTasks,
    maxWaiting: settings.maxQueuedCalls,
    onFull: () =>
      new RpcError(errorCodes.internal, `More than ${settings.maxQueuedCalls} calls wait; try again later`),
  });
  const tasks = createTaskService({ queue, gate, clock, answerMs: settings.taskAnswerMs, instance });
  if (isObject(mcp['upstream'])) {
    const { source, ...people } = await upstreamSource(mcp['upstream'], gate, options);
    const serving = servingTasks(source, () => tasks.serve(sourceTasks(source, options)));
    return { source: serving, tasks, ...people };
  }
  const configFile = typeof mcp['configFile'] === 'string' ? mcp['configFile'] : undefined;
  const source = createConfiguredSource({
    services: {
      gate,
      tasks,
      rounds: roundLimits(options),
      host: {
        spawner,
        clock,
        log,
        settings,
        agentName: config.agent.name,
        codeFolder: config.paths.code,
        pluginsCommand: pluginsCommandOf(options.spawnerCommand),
        env: config.env,
        publish: options.publish,
      },
    },
    face: { keys: options.keys, instance, slot, pollMs: settings.taskPollMs },
    settings,
    clock,
    inline: hasInlineTools(mcp) ? mcp : undefined,
    candidates: configCandidates(config.env, config.paths.code, configFile),
    fileRequired: configFile !== undefined,
    onLimits(definition) {
      gate.resize(
        numberIn(mcp, 'maxParallelTasks') ?? definition.maxParallelTasks ?? settings.maxParallelTasks,
      );
      const tail = numberIn(mcp, 'taskLogTailBytes') ?? definition.taskLogTailBytes;
      if (tail !== undefined) options.onLogTailBytes(tail);
    },
  });
  return { source, tasks };
}

/** The same source, whose tasks run from when its tools are known until it is closed. */
function servingTasks(source: Source, serve: () => () => void): Source {
  let closed = false;
  let stop = () => {};
  void source.settled.then(() => {
    if (!closed) stop = serve();
  });
  const close = async () => {
    closed = true;
    stop();
    await source.close();
  };
  return Object.create(source, { close: { value: close } }) as Source;
}

type Upstream = Omit<BuiltSource, 'tasks'>;

async function upstreamSource(
  upstream: Record<string, unknown>,
  gate: Gate,
  options: SourceOptions,
): Promise<Upstream> {
  const { config, settings, clock, random, log, keys } = options;
  const { principal: agent, instance } = config.agent;
  const source = (open: OpenConnection) =>
    createUpstreamSource({ open, agent, instance, keys, settings, gate, clock, random, log });
  if (options.visit !== undefined || !isPerUser(upstream))
    return { source: source(connectorOf(upstream, config, options)) };
  // Other agents do without what this needs.
  const { buildPeopleUpstream } = await import('./upstream/remote/people/build.ts');
  return buildPeopleUpstream({ ...remoteOptions(options), upstream, config, keys, random, source });
}

function isPerUser({ url, oauth }: Record<string, unknown>): boolean {
  return typeof url === 'string' && isObject(oauth) && oauth['mode'] === 'perUser';
}

function httpOptions({ settings, clock }: SourceOptions) {
  return {
    clock,
    startMs: settings.upstreamStartMs,
    maxMessageBytes: settings.maxUpstreamMessageBytes,
    maxDepth: settings.maxUpstreamDepth,
    maxInterim: settings.maxInterimAnswers,
    maxSessions: settings.maxUpstreamSessions,
    sessionIdleMs: settings.upstreamSessionIdleMs,
  };
}

function remoteOptions(options: SourceOptions) {
  const { upstreamSecrets: secrets, visit, log, settings } = options;
  return { ...httpOptions(options), secrets, visit, log, probeMs: settings.upstreamProbeMs };
}

function connectorOf(
  upstream: Record<string, unknown>,
  { paths, env }: AgentServerConfig,
  options: SourceOptions,
): OpenConnection {
  const { settings, log } = options;
  const { maxSessions, sessionIdleMs, ...common } = httpOptions(options);
  const { stdio, port, path, cwd } = upstream;
  if (Array.isArray(stdio)) {
    const folder = typeof cwd === 'string' ? resolve(paths.code, cwd) : paths.code;
    return stdioConnector({
      ...common,
      command: stdio.map(String),
      cwd: folder,
      env,
      log,
      graceMs: settings.killGraceMs,
      maxProcesses: settings.maxUpstreamProcesses,
      processIdleMs: settings.upstreamProcessIdleMs,
    });
  }
  if (typeof upstream['url'] === 'string') return remoteFor(upstream, options.config, remoteOptions(options));
  if (typeof port !== 'number') {
    const problem = 'mcp.upstream: stdio (a list), port (a number) or url (text) is needed';
    throw new AgentServerError('InvalidConfig', problem);
  }
  return httpConnector({
    ...common,
    ...{ maxSessions, sessionIdleMs },
    port,
    path: typeof path === 'string' ? path : '/mcp',
  });
}

function hasInlineTools(mcp: Record<string, unknown>): boolean {
  return ['tools', 'resources', 'prompts'].some((name) => Array.isArray(mcp[name]));
}

function numberIn(object: Record<string, unknown>, name: string): number | undefined {
  const value = isObject(object) ? object[name] : undefined;
  return typeof value === 'number' ? value : undefined;
}
