import type { Clock } from '#kit/clock.ts';
import type { BlobInfo } from '#wire/blobs.ts';
import { BlobError } from '../errors.ts';
import type { FoundBlob } from '../store.ts';
import { partsOf } from './body.ts';
import type { S3Client } from './client.ts';
import { sendObject } from './send-object.ts';

export interface ObjectPlace {
  readonly client: S3Client;
  /** For what is sent no faster than a client takes it. */
  readonly downloads: S3Client;
  readonly key: string;
  readonly clock: Clock;
  /** Milliseconds without a byte after which the store has broken off. */
  readonly idleMs: number;
}

/** A blob whose content is an object. */
export function foundIn(info: BlobInfo, { client, downloads, key, clock, idleMs }: ObjectPlace): FoundBlob {
  const { size, sha256, createdAt } = info;
  const open = (from: S3Client, start: number, end: number) =>
    from.open({ method: 'GET', key, headers: { range: `bytes=${start}-${end - 1}` } });
  return {
    info,
    validators: {
      etag: `"${sha256.slice(0, 32)}-${size.toString(36)}"`,
      modified: Date.parse(createdAt),
      size,
    },
    async send({ start, end }, response) {
      const incoming = await open(downloads, start, end).catch(() => undefined);
      if (incoming === undefined) response.destroy();
      else await sendObject(incoming, end - start, response, { clock, idleMs });
    },
    async read() {
      if (size === 0) return Buffer.alloc(0);
      const parts: Buffer[] = [];
      for await (const part of partsOf(await open(client, 0, size), clock, idleMs)) parts.push(part);
      const content = Buffer.concat(parts);
      if (content.length !== size) throw new BlobError('StoreFailed', 'The store gave less than the blob');
      return content;
    },
    close: async () => undefined,
  };
}
