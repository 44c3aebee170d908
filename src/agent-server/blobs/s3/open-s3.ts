import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { AgentServerConfig, UpstreamSecrets } from '#api/agent-server-config.ts';
import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';
import { AgentServerError } from '../../errors.ts';
import { TunnelAgent } from '../../upstream/remote/tunnel.ts';
import type { BlobLimits } from '../limits.ts';
import type { BlobStore } from '../store.ts';
import { createS3Client } from './client.ts';
import { createS3Store } from './s3-store.ts';

export type S3Config = NonNullable<NonNullable<AgentServerConfig['blobs']>['s3']>;

export interface OpenS3Options {
  readonly s3: S3Config;
  readonly config: AgentServerConfig;
  readonly limits: BlobLimits;
  readonly secrets: () => UpstreamSecrets;
  readonly clock: Clock;
  readonly random: Random;
  readonly idleMs: number;
}

/** Of one agent-server; an upload and a download need one each. */
const mostConnections = 64;

/** The store that a configuration names, through the egress proxy as remote upstreams. Throws InvalidConfig. */
export function openS3({ s3, config, limits, secrets, clock, random, idleMs }: OpenS3Options): BlobStore {
  const endpoint = URL.parse(s3.endpoint);
  if (endpoint === null) throw new AgentServerError('InvalidConfig', 'storage.blobs.s3.endpoint: is no URL');
  const machine = readAuthorities(config.env['NODE_EXTRA_CA_CERTS']);
  const agent = new TunnelAgent({
    // The one forwarder that adds a credential leads to the egress proxy.
    proxyPort: config.forwards.find(({ proxyAuthorization }) => proxyAuthorization !== undefined)?.listen,
    authorities: () => secrets().blobs?.ca ?? (machine && [...rootCertificates, machine]),
    ...{ clock, tls: endpoint.protocol === 'https:', maxSockets: mostConnections },
  });
  const { region, bucket, prefix, pathStyle } = s3;
  const place = { endpoint, region, bucket, pathStyle };
  const client = createS3Client({ place, credentials: () => secrets().blobs, agent, clock, idleMs });
  const { namespace, name } = config.agent;
  const { workspace } = config.paths;
  return createS3Store({ client, prefix, namespace, agent: name, workspace, limits, clock, random, idleMs });
}

function readAuthorities(path: string | undefined): string | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
