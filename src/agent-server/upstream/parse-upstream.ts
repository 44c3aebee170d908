import { nestsDeeper } from '#mcp/parse.ts';
import { defaultSettings } from '../config/settings.ts';
import { AgentServerError } from '../errors.ts';

/** JSON of an MCP server, at most so many levels deep. Throws AgentServerError `UpstreamInvalid`. */
export function parseUpstream(text: string, maxDepth: number = defaultSettings.maxUpstreamDepth): unknown {
  if (nestsDeeper(text, maxDepth)) {
    throw new AgentServerError(
      'UpstreamInvalid',
      `The agent's MCP server answered JSON that nests deeper than ${maxDepth} levels`,
    );
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new AgentServerError(
      'UpstreamInvalid',
      "The agent's MCP server answered something that is not JSON",
    );
  }
}
