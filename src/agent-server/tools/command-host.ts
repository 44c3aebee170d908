import { resolve } from 'node:path';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { OpenGiven } from '../blobs/publish.ts';
import type { RoundsOptions } from '../bridge/rounds.ts';
import type { CommandLine } from '../config/mcp-config.ts';
import type { Settings } from '../config/settings.ts';
import type { Gate } from '../queue/gate.ts';
import type { McpTasks } from '../tasks/mcp-tasks.ts';
import type { RunningTaskService } from '../tasks/task-service.ts';
import { resolveExecutable } from './executable.ts';
import type { Outcome } from './run-command.ts';
import type { Spawner } from './spawner-client.ts';

/** What commands share: where they run and with what. */
export interface CommandHost {
  readonly spawner: Spawner;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: Settings;
  readonly agentName: string;
  readonly codeFolder: string;
  /** Program and arguments that run a tool with `runner: plugins`. */
  readonly pluginsCommand: readonly string[];
  /** Gives a file of the workspace to the client of a call. */
  readonly publish?: OpenGiven | undefined;
  /** The whole environment of every command; its own `env` is laid over it. */
  readonly env: Readonly<Record<string, string>>;
}

/** What carries commands out, whichever configuration they come from. */
export interface CommandServices {
  readonly host: CommandHost;
  /** One limit for every execution. */
  readonly gate: Gate;
  readonly tasks: RunningTaskService;
  readonly mcpTasks: McpTasks;
  /** How clients with sessions are asked what a tool wants to know. */
  readonly rounds: RoundsOptions;
}

/** How a command is started, known to the spawner under an id. */
export interface CommandTemplate {
  id(): number;
  /** After a failed start the command is looked for anew next time: it may have been installed meanwhile. */
  observe(outcome: Outcome): void;
  close(): void;
}

interface CommandDefinition {
  readonly command: CommandLine;
  readonly args?: readonly (string | number | boolean)[] | undefined;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string | number | boolean>> | undefined;
}

export function defineCommand(
  definition: CommandDefinition,
  host: CommandHost,
  prewarm: number,
): CommandTemplate {
  let id: number | undefined = prewarm > 0 ? define(definition, host, prewarm) : undefined;
  const close = () => {
    if (id !== undefined) host.spawner.forget(id);
    id = undefined;
  };
  return {
    id: () => (id ??= define(definition, host, prewarm)),
    observe: (outcome) => void (outcome.type === 'failed' && close()),
    close,
  };
}

function define(definition: CommandDefinition, host: CommandHost, prewarm: number): number {
  const { settings, codeFolder } = host;
  const env = { ...host.env, ...textValues(definition.env ?? {}) };
  const args = (definition.args ?? []).map(String);
  const { cwd } = definition;
  return host.spawner.define({
    ...resolveExecutable(definition.command, args, codeFolder, env['PATH'] ?? '/usr/bin:/bin'),
    cwd: cwd === undefined || cwd === '' || cwd === 'workspace' ? codeFolder : resolve(codeFolder, cwd),
    env,
    maxStdout: settings.maxOutputBytes,
    maxStderr: settings.maxErrorOutputBytes,
    maxEvent: settings.maxEventBytes,
    graceMs: settings.killGraceMs,
    prewarm,
  });
}

function textValues(values: Readonly<Record<string, string | number | boolean>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}
