import { readFileSync } from 'node:fs';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import { isObject } from '#kit/json.ts';
import { AgentServerError } from '../../errors.ts';
import type { RemoteOAuth, RemoteOptions } from './remote.ts';

type Remote = Pick<RemoteOptions, 'url' | 'oauth' | 'proxyPort' | 'machineAuthorities'>;

/** What `mcp.upstream` says of a remote server. Throws InvalidConfig. */
export function readRemote(upstream: Record<string, unknown>, config: AgentServerConfig): Remote {
  const url = URL.parse(String(upstream['url']));
  if (url === null) throw wrong('url', 'is no URL');
  const { oauth } = upstream;
  return {
    url,
    oauth: isObject(oauth) ? readOAuth(oauth) : undefined,
    // The one forwarder that adds a credential leads to the egress proxy.
    proxyPort: config.forwards.find(({ proxyAuthorization }) => proxyAuthorization !== undefined)?.listen,
    machineAuthorities: readAuthorities(config.env['NODE_EXTRA_CA_CERTS']),
  };
}

function readOAuth({ mode, clientId, issuer, scopes }: Record<string, unknown>): RemoteOAuth {
  const fields = {
    ...(typeof issuer === 'string' && { issuer }),
    ...(Array.isArray(scopes) && { scopes: scopes.map(String) }),
  };
  if (mode === 'perUser') return { ...fields, mode, ...(typeof clientId === 'string' && { clientId }) };
  if (mode !== 'clientCredentials') throw wrong('oauth.mode', 'must be clientCredentials or perUser');
  if (typeof clientId !== 'string') throw wrong('oauth.clientId', 'is needed');
  return { ...fields, clientId };
}

/**
 * Authorities of the machine, or of `spec.env`, that are trusted beside the public ones. As in Node itself, a file that is
 * not there adds none.
 */
function readAuthorities(path: string | undefined): string | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function wrong(field: string, problem: string): AgentServerError {
  return new AgentServerError('InvalidConfig', `mcp.upstream.${field}: ${problem}`);
}
