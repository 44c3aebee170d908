import type { Schema } from '../arguments/schema.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { createMcpClient } from '../mcp-client.ts';
import { withRouter } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { findTool, type ListedTool, listTools } from '../tool-list.ts';

/**
 * What the tool takes, as its agent lists it now; undefined when that is not known: the agent is away, or no Route
 * leads to it. A task waits for its agent, so that is no error. Throws `notFound` for a tool that the agent does not
 * have.
 */
export async function findSchema(
  cli: Cli,
  options: GlobalOptions,
  { agent, tool }: { readonly agent: string; readonly tool: string },
): Promise<Schema | undefined> {
  const listed = await listOf(cli, options, agent);
  if (listed === undefined) {
    cli.terminal.note(`The tools of ${agent} are not known now: values are taken as they look.`);
    return undefined;
  }
  return (await findTool(listed, { name: tool, agent }, async () => [])).inputSchema;
}

async function listOf(cli: Cli, options: GlobalOptions, agent: string): Promise<ListedTool[] | undefined> {
  try {
    return await withRouter(cli, options, (router) =>
      listTools(
        createMcpClient({ router, version: cli.version, clock: cli.clock, signal: cli.interrupted }),
        agent,
      ),
    );
  } catch (error) {
    cli.interrupted.throwIfAborted();
    // A wrong command line stays one.
    if (error instanceof CliError && error.exitCode === exitCodes.usage) throw error;
    return undefined;
  }
}
