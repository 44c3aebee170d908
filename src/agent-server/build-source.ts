import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import type { Log } from '#kit/log.ts';
import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import { configCandidates } from './config/locate.ts';
import type { Settings } from './config/settings.ts';
import { createGate } from './queue/gate.ts';
import type { TaskQueue } from './queue/queue.ts';
import type { Source } from './source.ts';
import { createConfiguredSource } from './tools/configured-source.ts';
import type { Spawner } from './tools/spawner-client.ts';

export interface SourceOptions {
  readonly config: AgentServerConfig;
  readonly settings: Settings;
  readonly spawner: Spawner;
  readonly queue: TaskQueue;
  readonly clock: Clock;
  readonly log: Log;
  /** Told the log size that the configuration asks for. */
  readonly onLogTailBytes: (bytes: number) => void;
}

/** The source that the configuration names: commands inline, commands of a file, or an upstream. */
export function buildSource(options: SourceOptions): Source {
  const { config, settings, log, clock, spawner, queue } = options;
  const mcp = config.mcp ?? {};
  const gate = createGate({
    limit: numberIn(mcp, 'maxParallelTasks') ?? settings.maxParallelTasks,
    maxWaiting: settings.maxQueuedCalls,
    onFull: () =>
      new RpcError(errorCodes.internal, `More than ${settings.maxQueuedCalls} calls wait; try again later`),
  });
  const configFile = typeof mcp['configFile'] === 'string' ? mcp['configFile'] : undefined;
  return createConfiguredSource({
    services: {
      gate,
      queue,
      host: {
        spawner,
        clock,
        log,
        settings,
        agentName: config.agent.name,
        codeFolder: config.paths.code,
        env: config.env,
      },
    },
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
}

function hasInlineTools(mcp: Record<string, unknown>): boolean {
  return ['tools', 'resources', 'prompts'].some((name) => Array.isArray(mcp[name]));
}

function numberIn(object: Record<string, unknown>, name: string): number | undefined {
  const value = isObject(object) ? object[name] : undefined;
  return typeof value === 'number' ? value : undefined;
}
