import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Clock } from '#kit/clock.ts';
import { BlobError } from '../errors.ts';
import type { Room } from '../room.ts';
import type { Upload } from '../store.ts';
import { type TakeBatch, takeBody } from '../take-body.ts';
import type { S3Client } from './client.ts';
import { codeIn, uploadIdIn } from './xml.ts';

export interface ObjectUpload {
  readonly client: S3Client;
  readonly key: string;
  readonly upload: Upload;
  readonly body: Readable;
  readonly room: Room;
  /** Bytes that are sent at once. */
  readonly partBytes: number;
  readonly clock: Clock;
  readonly idleMs: number;
}

export interface Uploaded {
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Makes an object of a body: in one request where it is small, else part by part. It is there when this resolves, whole;
 * when this rejects there is nothing, except where the store cannot be reached to take back what has come.
 */
export async function uploadObject(order: ObjectUpload): Promise<Uploaded> {
  const { client, key, upload, room, partBytes, clock, idleMs } = order;
  const hash = createHash('sha256');
  const parts = createParts(client, key);
  let last: readonly Buffer[] = [];
  const take: TakeBatch = async (chunks, bytes, release) => {
    room.take(bytes);
    for (const chunk of chunks) hash.update(chunk);
    if (bytes >= partBytes || parts.begun) await parts.add(chunks);
    // What is less than a part is all there is.
    else last = [Buffer.concat(chunks)];
    release();
  };
  try {
    const bytes = await takeBody(order.body, { batchBytes: partBytes, take, clock, idleMs });
    const sha256 = hash.digest('hex');
    if (upload.sha256 !== undefined && upload.sha256 !== sha256)
      throw new BlobError('DigestMismatch', `The content has SHA-256 ${sha256}, not the one that was said`);
    if (parts.begun) await parts.complete();
    else await mustWork(client.ask({ method: 'PUT', key, body: last, sha256 }));
    room.settle(bytes);
    return { bytes, sha256 };
  } catch (error) {
    await parts.abort();
    throw error;
  }
}

interface Parts {
  readonly begun: boolean;
  add(chunks: readonly Buffer[]): Promise<void>;
  complete(): Promise<void>;
  /** Never rejects. */
  abort(): Promise<void>;
}

function createParts(client: S3Client, key: string): Parts {
  const tags: string[] = [];
  let id: string | undefined;
  let adding: Promise<unknown> = Promise.resolve();

  async function begin(): Promise<string> {
    const { text } = await mustWork(client.ask({ method: 'POST', key, query: { uploads: '' } }));
    const begun = uploadIdIn(text);
    if (begun === undefined) throw new BlobError('StoreFailed', 'The store names no upload');
    return begun;
  }
  async function put(chunks: readonly Buffer[]): Promise<void> {
    id ??= await begin();
    const query = { partNumber: String(tags.length + 1), uploadId: id };
    const { headers } = await mustWork(client.ask({ method: 'PUT', key, query, body: chunks }));
    tags.push(headers.etag ?? '');
  }
  return {
    get begun() {
      return id !== undefined;
    },
    async add(chunks) {
      const added = put(chunks);
      adding = added.catch(() => undefined);
      await added;
    },
    async complete() {
      const named = tags.map(
        (tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${tag}</ETag></Part>`,
      );
      const body = [Buffer.from(`<CompleteMultipartUpload>${named.join('')}</CompleteMultipartUpload>`)];
      const query = { uploadId: id ?? '' };
      const { status, text } = await client.ask({ method: 'POST', key, query, body });
      // It may have been completed by a request whose answer was lost: then the object is there.
      const isThere = status === 404 && (await client.ask({ method: 'HEAD', key })).status === 200;
      if ((status !== 200 && !isThere) || (status === 200 && codeIn(text) !== undefined))
        throw new BlobError('StoreFailed', `The store completes no upload: ${codeIn(text) ?? status}`);
    },
    async abort() {
      await adding;
      if (id === undefined) return;
      await client.ask({ method: 'DELETE', key, query: { uploadId: id } }).catch(() => undefined);
    },
  };
}

async function mustWork<Answer extends { readonly status: number; readonly text: string }>(
  answer: Promise<Answer>,
): Promise<Answer> {
  const { status, text } = await answer;
  if (status === 404)
    throw new BlobError('StoreFailed', `The store has no such place: ${codeIn(text) ?? 404}`);
  return answer;
}
