import type { AgentSpec } from '#api/agent.ts';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import { parseQuantity } from './quantity.ts';

/** `spec.storage.blobs` in numbers; what it does not say is the agent-server's to decide. Pure. */
export function blobsOf({ storage: { blobs } }: AgentSpec): Pick<AgentServerConfig, 'blobs'> {
  if (blobs === undefined) return {};
  const maxBlobBytes = bytes(blobs.maxBlobBytes);
  const maxBytes = bytes(blobs.maxBytes);
  return {
    blobs: {
      limits: {
        ...(maxBlobBytes !== undefined && { maxBlobBytes }),
        ...(maxBytes !== undefined && { maxBytes }),
        ...(blobs.maxBlobs !== undefined && { maxBlobs: blobs.maxBlobs }),
        ...(blobs.ttlSeconds !== undefined && { ttlSeconds: blobs.ttlSeconds }),
      },
      ...(blobs.s3 !== undefined && { s3: placeOf(blobs.s3) }),
    },
  };
}

type S3Spec = NonNullable<NonNullable<AgentSpec['storage']['blobs']>['s3']>;

function placeOf({ endpoint, region, bucket, prefix, pathStyle }: S3Spec) {
  return { endpoint, region, bucket, prefix, pathStyle };
}

function bytes(quantity: string | number | undefined): number | undefined {
  return quantity === undefined ? undefined : parseQuantity(quantity);
}
