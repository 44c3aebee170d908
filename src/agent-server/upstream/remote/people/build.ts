import { join } from 'node:path';
import type { Source } from '#agent-server/source.ts';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { Random } from '#kit/random.ts';
import type { WireKey } from '#wire/keys.ts';
import type { OpenConnection } from '../../connection.ts';
import { readRemote } from '../read-remote.ts';
import { type RemoteOptions, remoteForPeople } from '../remote.ts';
import { createLogins, type Logins } from './logins.ts';
import { holdPeople } from './people.ts';
import { createPeopleSource } from './people-source.ts';
import { openVault } from './vault.ts';

export interface PeopleUpstreamOptions
  extends Omit<RemoteOptions, 'url' | 'oauth' | 'proxyPort' | 'machineAuthorities'> {
  readonly upstream: Record<string, unknown>;
  readonly config: AgentServerConfig;
  readonly keys: () => readonly WireKey[];
  readonly random: Random;
  /** The source of one person. */
  readonly source: (open: OpenConnection) => Source;
}

export interface PeopleUpstream {
  readonly source: Source;
  readonly logins: Logins;
  /** `keys` gives others than before. */
  readonly keysChanged: () => void;
}

/** The folder in the agent's workspace where logins are kept. */
const folderName = '.upstreamLogins';

/** A remote upstream at which each caller logs in. Throws InvalidConfig. */
export function buildPeopleUpstream(options: PeopleUpstreamOptions): PeopleUpstream {
  const { upstream, config, keys, random, clock, log } = options;
  const remote = readRemote(upstream, config);
  const { clientId, scopes } = remote.oauth ?? {};
  const place = remoteForPeople({ ...options, ...remote });
  const { host, href } = remote.url;
  const { namespace, name } = config.agent;
  const page = `/auth/upstream/${namespace}/${name}`;
  const folder = join(config.paths.workspace, folderName);
  const vault = openVault({
    ...{ folder, keys, log, now: () => clock.now() },
    owner: [config.agent.principal, href],
  });
  const people = holdPeople({ ...place.flow, clientId, scopes, vault, clock, log });
  const source = createPeopleSource({
    ...{ people, vault, host, page, clock, random, end: place.end },
    idleMs: options.sessionIdleMs,
    open: ({ tokens }) => options.source(place.connector(tokens)),
  });
  return {
    source,
    logins: createLogins({ people, host, changed: source.changed }),
    keysChanged: () => void vault.rotate(),
  };
}
