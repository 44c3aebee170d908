import { delimiter, resolve } from 'node:path';
import type { ToolDefinition } from '../config/mcp-config.ts';
import type { CommandHost } from './command-host.ts';

/** Names the folders of plugins, relative to the code folder, in a tool's or the agent's environment. */
export const pluginsFolderVariable = 'PLUGINS_FOLDER';

/** How a tool is carried out: as it stands, or with `runner: plugins` by the agent-server's own runtime. */
export function withRunner(
  definition: ToolDefinition,
  { pluginsCommand, codeFolder, env }: CommandHost,
): ToolDefinition {
  if (definition.runner !== 'plugins') return definition;
  const { command } = definition;
  const named = String(definition.env?.[pluginsFolderVariable] ?? env[pluginsFolderVariable] ?? 'plugins');
  const folders = named
    .split(delimiter)
    .map((folder) => resolve(codeFolder, folder))
    .join(delimiter);
  return {
    ...definition,
    command: [...pluginsCommand, folders, typeof command === 'string' ? command : command.join('.')],
  };
}

/** The agent-server's program in its `plugins` mode, from how its spawner is started; that one's flags are its own. */
export function pluginsCommandOf(spawnerCommand: readonly string[]): readonly string[] {
  const program = spawnerCommand.slice(0, spawnerCommand.lastIndexOf('spawner'));
  return [...program.filter((word) => !word.startsWith('--')), 'plugins'];
}
