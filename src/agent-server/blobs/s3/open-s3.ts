import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { AgentServerConfig, UpstreamSecrets } from '#api/agent-server-config.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
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
  readonly log: Log;
  readonly idleMs: number;
  /** As S3StoreOptions. */
  readonly bufferBytes: number;
  readonly copyBytes: number;
}

/** Of one agent-server. Downloads hold theirs as long as their clients read. */
const mostConnections = { downloads: 64, others: 32 };

/** The store that a configuration names, through the egress proxy as remote upstreams. Throws InvalidConfig. */
export function openS3(options: OpenS3Options): BlobStore {
  const { s3, config, limits, secrets, clock, random, log, idleMs, bufferBytes, copyBytes } = options;
  const endpoint = URL.parse(s3.endpoint);
  if (endpoint === null) throw new AgentServerError('InvalidConfig', 'storage.blobs.s3.endpoint: is no URL');
  const machine = readAuthorities(config.env['NODE_EXTRA_CA_CERTS']);
  const wayOut = {
    // The one forwarder that adds a credential leads to the egress proxy.
    proxyPort: config.forwards.find(({ proxyAuthorization }) => proxyAuthorization !== undefined)?.listen,
    authorities: () => secrets().blobs?.ca ?? (machine && [...rootCertificates, machine]),
    ...{ clock, tls: endpoint.protocol === 'https:' },
  };
  const { region, bucket, prefix, pathStyle } = s3;
  const place = { endpoint, region, bucket, pathStyle };
  const clientOf = (maxSockets: number) => {
    const agent = new TunnelAgent({ ...wayOut, maxSockets });
    return createS3Client({ place, credentials: () => secrets().blobs, agent, clock, idleMs });
  };
  const client = clientOf(mostConnections.others);
  const downloads = clientOf(mostConnections.downloads);
  const { namespace, name } = config.agent;
  const { workspace } = config.paths;
  const own = { prefix, namespace, agent: name, workspace };
  const bounds = { limits, idleMs, bufferBytes, copyBytes };
  return createS3Store({ client, downloads, ...own, ...bounds, clock, random, log });
}

function readAuthorities(path: string | undefined): string | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
