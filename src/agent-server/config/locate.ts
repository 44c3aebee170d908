import { isAbsolute, join } from 'node:path';

/** Variables that may name the configuration file, in the order of the Ploinky contract. */
const variables = ['PLOINKY_AGENT_CONFIG', 'MCP_CONFIG_FILE', 'AGENT_CONFIG_FILE', 'PLOINKY_MCP_CONFIG_PATH'];

/**
 * Where tools may be configured, best first (Ploinky contract, §3). The first file that exists counts.
 * `configFile` of the Agent, when given, is the only place.
 */
export function configCandidates(
  env: Readonly<Record<string, string>>,
  codeFolder: string,
  configFile: string | undefined,
): string[] {
  if (configFile !== undefined) return [inFolder(codeFolder, configFile)];
  const named = variables.flatMap((name) => (env[name] ? [inFolder(codeFolder, env[name])] : []));
  const code = env['PLOINKY_CODE_DIR'] ?? codeFolder;
  return [...named, '/tmp/ploinky/mcp-config.json', join(code, 'mcp-config.json')];
}

function inFolder(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}
