import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import { type Broadcast, createBroadcast } from '../broadcast.ts';
import { findConfigFile, readConfigFile } from '../config/config-file.ts';
import { type McpDefinition, readMcpDefinition } from '../config/mcp-config.ts';
import type { Settings } from '../config/settings.ts';
import type { Source, SourceChange, SourceStatus } from '../source.ts';
import { createMcpTasks, type McpTasksOptions } from '../tasks/mcp-tasks.ts';
import type { CommandServices } from './command-host.ts';
import { type CommandSet, createCommandSet, emptyCommandSet } from './command-source.ts';
import { commandTasks } from './command-tasks.ts';

export interface ConfiguredSourceOptions {
  readonly services: Omit<CommandServices, 'mcpTasks'>;
  /** How tasks are called, and what is told of them. */
  readonly face: Pick<McpTasksOptions, 'keys' | 'instance' | 'slot' | 'pollMs'>;
  readonly settings: Settings;
  readonly clock: Clock;
  /** Tools of the Agent itself. With them no file is looked for. */
  readonly inline: unknown;
  /** Where a file may be, best first; it is read again when it changes. */
  readonly candidates: readonly string[];
  /** The file was named by the Agent, so its absence is an error. */
  readonly fileRequired: boolean;
  /** Told which limits the configuration asks for. */
  readonly onLimits: (definition: McpDefinition) => void;
}

/** Tools, resources and prompts that are commands: of the Agent itself, or of a file that is read again. */
export function createConfiguredSource(options: ConfiguredSourceOptions): Source {
  const { clock } = options;
  const changes = createBroadcast<SourceChange>();
  const services = withFace(options, changes);
  let commands: CommandSet = emptyCommandSet;
  let status: SourceStatus = { ready: false, reason: 'Starting', message: 'The configuration is being read' };
  const readFile = createFileReader(options);
  let cancelPoll = () => {};
  let closed = false;
  let stopRunner: (() => void) | undefined;

  function setStatus(next: SourceStatus): void {
    if (next.reason === status.reason && next.message === status.message) return;
    status = next;
    changes.tell({ type: 'status' });
  }
  function use(document: unknown): void {
    const definition = readMcpDefinition(document);
    const next = createCommandSet(definition, services);
    commands.close();
    commands = next;
    options.onLimits(definition);
    for (const problem of next.problems)
      services.host.log.warn('Part of the configuration is not used', { problem });
    setStatus(readyStatus(next));
    changes.tell({ type: 'catalog' });
    stopRunner ??= services.tasks.serve(commandTasks(() => commands.tools, services.host));
  }
  async function load(): Promise<void> {
    try {
      if (options.inline !== undefined) use(options.inline);
      else {
        const file = await readFile();
        if (file !== undefined && !closed) use(file.document);
      }
    } catch (error) {
      const ready = commands !== emptyCommandSet;
      setStatus({ ready, reason: 'ConfigInvalid', message: messageOf(error) });
    }
  }
  function poll(): void {
    cancelPoll = clock.after(
      options.settings.configPollMs,
      () => void load().finally(() => closed || poll()),
    );
  }
  const settled = load().then(() => {
    if (options.inline === undefined && !closed) poll();
  });
  return {
    settled,
    get catalog() {
      return commands.catalog;
    },
    get status() {
      return status;
    },
    onChange: changes.listen,
    request: (method, params, call) => commands.request(method, params, call),
    watchTasks: services.mcpTasks.watch,
    async close() {
      closed = true;
      cancelPoll();
      stopRunner?.();
      services.mcpTasks.close();
      commands.close();
    },
  };
}

/**
 * Reads the file of tools when it is another one than last time; undefined when it is the same. Throws for a broken file,
 * and while one that was there has gone: the last good one stays in use then, and the status says so.
 */
function createFileReader({ candidates, fileRequired, settings }: ConfiguredSourceOptions) {
  let stamp: string | undefined;
  let hadFile = false;
  return async (): Promise<{ readonly document: unknown } | undefined> => {
    const file = await findConfigFile(candidates);
    if (file === undefined && (fileRequired || hadFile)) {
      // The same file may come back.
      stamp = undefined;
      const missing = `There is no ${candidates[0]}`;
      throw new Error(hadFile ? `${missing} any more; what it had is used on` : missing);
    }
    const found = file?.stamp ?? 'none';
    if (found === stamp) return undefined;
    stamp = found;
    const document = file === undefined ? {} : await readConfigFile(file.path, settings.maxConfigBytes);
    hadFile = file !== undefined;
    return { document };
  };
}

/** The services with tasks as MCP clients have them. */
function withFace(
  { face, services, clock }: ConfiguredSourceOptions,
  changes: Broadcast<SourceChange>,
): CommandServices {
  const { tasks: service, rounds } = services;
  const tellSession: McpTasksOptions['tellSession'] = (session, params) =>
    changes.tell({ type: 'task', session, params });
  return { ...services, mcpTasks: createMcpTasks({ ...face, service, clock, rounds, tellSession }) };
}

function readyStatus(commands: CommandSet): SourceStatus {
  if (commands.problems.length === 0) return { ready: true, reason: 'Ready', message: '' };
  return { ready: true, reason: 'ConfigProblems', message: commands.problems.slice(0, 5).join('; ') };
}
