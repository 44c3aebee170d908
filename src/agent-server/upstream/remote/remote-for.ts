import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { OpenConnection } from '../connection.ts';
import type { RemoteOptions } from './remote.ts';

type Rest = Omit<RemoteOptions, 'url' | 'oauth' | 'proxyPort' | 'machineAuthorities'>;

/**
 * The connector of `mcp.upstream.url`. What it needs is loaded when it first connects: other agents do without. What is
 * wrong in the configuration is a connection that fails.
 */
export function remoteFor(
  upstream: Record<string, unknown>,
  config: AgentServerConfig,
  rest: Rest,
): OpenConnection {
  let made: Promise<OpenConnection> | undefined;
  async function make(): Promise<OpenConnection> {
    const { readRemote } = await import('./read-remote.ts');
    const { remoteConnector } = await import('./remote.ts');
    return remoteConnector({ ...rest, ...readRemote(upstream, config) });
  }
  return async (events, signal) => {
    made ??= make();
    const open = await made;
    return open(events, signal);
  };
}
