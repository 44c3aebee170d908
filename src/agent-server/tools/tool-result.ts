import { isObject } from '#kit/json.ts';
import type { Result } from '#mcp/results.ts';
import type { Outcome } from './run-command.ts';

/** `{content: [{text: "MCP error -32603: …"}], isError: true}`; a process that never started has no prefix. */
export function errorResult(message: string, outcome: Outcome): Result {
  const text = outcome.type === 'failed' ? message : `MCP error -32603: ${message}`;
  return { content: [{ type: 'text', text }], isError: true };
}

/**
 * stdout as the result's text, stderr as a second item (Ploinky contract, §3). With an `outputSchema`,
 * stdout that is JSON is the structured content as well.
 */
export function outputResult(stdout: Buffer, stderr: Buffer, agent: string, structured: boolean): Result {
  const text = stdout.toString('utf8');
  const content = [{ type: 'text', text: text === '' ? '(no output)' : text }];
  if (stderr.length > 0) content.push({ type: 'text', text: `stderr:\n${stderr.toString('utf8')}` });
  const value = structured ? parsed(text) : undefined;
  return {
    content,
    ...(isObject(value) && { structuredContent: value }),
    metadata: { agent },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
