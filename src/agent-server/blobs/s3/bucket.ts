import { BlobError } from '../errors.ts';
import type { S3Client } from './client.ts';
import { codeIn, type Listed, type ListPage, readList, readUploads } from './xml.ts';

/** What a store of blobs asks a bucket for, beside uploads. All reject with BlobError. */
export interface Bucket {
  /** Names below the prefix, and sizes; one page, in order. */
  page(prefix: string, options: { readonly after?: string; readonly limit?: number }): Promise<ListPage>;
  /** All pages. */
  all(prefix: string): AsyncGenerator<Listed>;
  /** Undefined: there is none. */
  text(key: string): Promise<string | undefined>;
  put(key: string, content: string): Promise<void>;
  remove(key: string): Promise<void>;
  /** Ends the uploads that were begun before that time, in milliseconds since the epoch, and never ended. */
  abortOlder(prefix: string, before: number): Promise<void>;
}

export function bucketOf(client: S3Client): Bucket {
  async function listed(prefix: string, query: Record<string, string>): Promise<ListPage> {
    const { status, text } = await client.ask({
      method: 'GET',
      key: '',
      query: { 'list-type': '2', prefix, ...query },
    });
    if (status === 404) throw missing(text);
    const { objects, next } = readList(text);
    const named = objects.filter(({ key }) => key.startsWith(prefix));
    return { next, objects: named.map((object) => ({ ...object, key: object.key.slice(prefix.length) })) };
  }
  return {
    page: (prefix, { after, limit = 1000 }) =>
      listed(prefix, {
        'max-keys': String(limit),
        ...(after !== undefined && { 'start-after': prefix + after }),
      }),
    async *all(prefix) {
      let token: string | undefined;
      do {
        const page = await listed(prefix, token === undefined ? {} : { 'continuation-token': token });
        yield* page.objects;
        token = page.next;
      } while (token !== undefined);
    },
    async text(key) {
      const { status, text } = await client.ask({ method: 'GET', key });
      if (status !== 404) return text;
      if (codeIn(text) === 'NoSuchBucket') throw missing(text);
      return undefined;
    },
    async put(key, content) {
      const { status, text } = await client.ask({ method: 'PUT', key, body: [Buffer.from(content)] });
      if (status === 404) throw missing(text);
    },
    async remove(key) {
      await client.ask({ method: 'DELETE', key });
    },
    async abortOlder(prefix, before) {
      const { text } = await client.ask({ method: 'GET', key: '', query: { uploads: '', prefix } });
      for (const { key, id, begun } of readUploads(text))
        if (key.startsWith(prefix) && begun < before)
          await client.ask({ method: 'DELETE', key, query: { uploadId: id } });
    },
  };
}

function missing(text: string): BlobError {
  return new BlobError('StoreFailed', `The store has no such bucket: ${codeIn(text) ?? 'HTTP 404'}`, {
    remedy: 'Make it, or correct spec.storage.blobs.s3.bucket.',
  });
}
