import type { Readable } from 'node:stream';
import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';
import { type BlobInfo, blobId, isBlobId } from '#wire/blobs.ts';
import { BlobError } from '../errors.ts';
import { type BlobLimits, createUsage, ttlWithin, type Usage } from '../limits.ts';
import { infoText, isExpired, readInfo } from '../metadata.ts';
import { openRoom } from '../room.ts';
import type { BlobPage, BlobStore, FoundBlob, Upload } from '../store.ts';
import { type BroughtFiles, broughtFiles } from './brought-files.ts';
import { type Bucket, bucketOf } from './bucket.ts';
import type { S3Client } from './client.ts';
import { type Names, namesBelow, readEnd } from './names.ts';
import { uploadObject } from './object-upload.ts';
import { sendObject } from './send-object.ts';

export interface S3StoreOptions {
  readonly client: S3Client;
  /** Of all keys; may be empty. */
  readonly prefix: string;
  readonly namespace: string;
  readonly agent: string;
  /** Where tools find blobs that calls name. */
  readonly workspace: string;
  readonly limits: BlobLimits;
  readonly clock: Clock;
  readonly random: Random;
  /** Milliseconds without a byte after which an upload, or the store, has broken off. */
  readonly idleMs: number;
  /** Bytes that are sent at once; more where blobs may be that large. */
  readonly partBytes?: number;
}

const mebibyte = 1024 * 1024;
const mostParts = 10_000;
/** What nobody can find is left from a crash when it is that old. */
const leftAfterMs = 24 * 60 * 60 * 1000;
const askedAtOnce = 16;

/** Blobs in a bucket, for all replicas of an agent: their ids say nothing of a replica, and any finds them. */
export function createS3Store(options: S3StoreOptions): BlobStore {
  return new S3Store(options);
}

class S3Store implements BlobStore {
  readonly #options: S3StoreOptions;
  readonly #bucket: Bucket;
  readonly #names: Names;
  readonly #usage: Usage;
  readonly #partBytes: number;
  readonly #brought: BroughtFiles;
  #coming = 0;
  #changes = 0;
  #looked: Promise<void> | undefined;

  constructor(options: S3StoreOptions) {
    const { client, limits, prefix, namespace, agent, workspace, clock } = options;
    this.#options = options;
    this.#bucket = bucketOf(client);
    this.#names = namesBelow(prefix, namespace, agent);
    this.#usage = createUsage(limits);
    const least = Math.ceil(limits.maxBlobBytes / mostParts / mebibyte) * mebibyte;
    this.#partBytes = Math.max(options.partBytes ?? 8 * mebibyte, least);
    this.#brought = broughtFiles(workspace, clock);
  }

  async put(upload: Upload, body: Readable): Promise<BlobInfo> {
    const { limits, random, client, clock, idleMs } = this.#options;
    const partBytes = this.#partBytes;
    await this.#makeRoom(upload.bytes ?? 0);
    const id = upload.id ?? blobId(random.bytes(22), undefined);
    const key = this.#names.data + id;
    const room = openRoom(this.#usage, limits, upload.bytes);
    this.#coming += 1;
    try {
      const taken = await uploadObject({ client, key, upload, body, room, partBytes, clock, idleMs });
      const info = this.#infoFor(id, upload, taken.bytes, taken.sha256);
      await this.#publish(info, upload.url);
      return info;
    } catch (error) {
      room.giveBack();
      throw error;
    } finally {
      this.#coming -= 1;
      this.#changes += 1;
    }
  }

  async find(id: string): Promise<FoundBlob | undefined> {
    const info = await this.#infoOf(id);
    return info === undefined || isExpired(info, this.#options.clock.now()) ? undefined : this.#found(info);
  }

  async list(limit: number, after?: string): Promise<BlobPage> {
    const start = after === undefined || after === '' ? {} : { after };
    const { objects, next } = await this.#bucket.page(this.#names.info, { ...start, limit });
    const ids = objects.map(({ key }) => key).filter(isBlobId);
    const infos: (BlobInfo | undefined)[] = [];
    for (let at = 0; at < ids.length; at += askedAtOnce)
      infos.push(...(await Promise.all(ids.slice(at, at + askedAtOnce).map((id) => this.#infoOf(id)))));
    const now = this.#options.clock.now();
    const blobs = infos.filter((info) => info !== undefined).filter((info) => !isExpired(info, now));
    const last = ids.at(-1);
    return next === undefined || last === undefined ? { blobs } : { blobs, next: last };
  }

  async remove(id: string): Promise<boolean> {
    const info = await this.#infoOf(id);
    // What is found by comes first; then nothing that is left could be found.
    if (info !== undefined) await this.#bucket.remove(this.#names.info + id);
    await this.#bucket.remove(this.#names.data + id);
    await this.#brought.forget(id);
    if (info === undefined) return false;
    if (info.expiresAt !== undefined) await this.#bucket.remove(this.#names.end(info.expiresAt, id));
    this.#usage.release(info.size);
    this.#usage.end();
    this.#changes += 1;
    return !isExpired(info, this.#options.clock.now());
  }

  async usage(): Promise<{ readonly bytes: number; readonly blobs: number }> {
    await this.#look(false);
    return { bytes: this.#usage.bytes, blobs: this.#usage.blobs };
  }

  async bring(id: string): Promise<boolean> {
    const info = await this.#infoOf(id);
    if (info === undefined || isExpired(info, this.#options.clock.now())) return false;
    const { client } = this.#options;
    await this.#brought.bring(info, () => client.open({ method: 'GET', key: this.#names.data + id }));
    return true;
  }

  async sweep(): Promise<void> {
    const now = this.#options.clock.now();
    for await (const { key } of this.#bucket.all(this.#names.ends)) {
      const end = readEnd(key);
      // They are in the order of their times.
      if (end !== undefined && end.at > now) break;
      if (end !== undefined) await this.remove(end.id);
      await this.#bucket.remove(this.#names.ends + key);
    }
    await this.#bucket.abortOlder(this.#names.data, now - leftAfterMs);
    await this.#look(true);
    await this.#brought.sweep(async (id) => (await this.#infoOf(id)) !== undefined);
  }

  /** Others may have removed some, and some may have expired. */
  async #makeRoom(bytes: number): Promise<void> {
    await this.#look(false);
    const { maxBytes, maxBlobs } = this.#options.limits;
    if (this.#usage.bytes + bytes > maxBytes || this.#usage.blobs >= maxBlobs) await this.sweep();
  }

  /** What it is found by comes last. */
  async #publish(info: BlobInfo, url: string | undefined): Promise<void> {
    const { id, expiresAt } = info;
    try {
      if (expiresAt !== undefined) await this.#bucket.put(this.#names.end(expiresAt, id), '');
      await this.#bucket.put(this.#names.info + id, infoText(info, url));
    } catch (error) {
      await this.remove(id).catch(() => undefined);
      throw error;
    }
  }

  #infoFor(id: string, upload: Upload, size: number, sha256: string): BlobInfo {
    const { clock, agent, limits } = this.#options;
    const now = clock.now();
    const { mime, filename } = upload;
    const ttlSeconds = ttlWithin(upload.ttlSeconds, limits);
    const ends = ttlSeconds > 0 && { expiresAt: new Date(now + ttlSeconds * 1000).toISOString() };
    const createdAt = new Date(now).toISOString();
    return { id, mime, size, createdAt, agent, filename, localPath: `blobs/${id}`, sha256, ...ends };
  }

  async #infoOf(id: string): Promise<BlobInfo | undefined> {
    const text = await this.#bucket.text(this.#names.info + id);
    if (text === undefined) return undefined;
    const size = sizeIn(text);
    return size === undefined ? undefined : readInfo(text, id, size);
  }

  #found(info: BlobInfo): FoundBlob {
    const { client, clock, idleMs } = this.#options;
    const key = this.#names.data + info.id;
    const { size, sha256, createdAt } = info;
    const open = (start: number, end: number) =>
      client.open({ method: 'GET', key, headers: { range: `bytes=${start}-${end - 1}` } });
    return {
      info,
      validators: {
        etag: `"${sha256.slice(0, 32)}-${size.toString(36)}"`,
        modified: Date.parse(createdAt),
        size,
      },
      async send({ start, end }, response) {
        const incoming = await open(start, end).catch(() => undefined);
        if (incoming === undefined) response.destroy();
        else await sendObject(incoming, end - start, response, { clock, idleMs });
      },
      async read() {
        if (size === 0) return Buffer.alloc(0);
        const parts: Buffer[] = [];
        for await (const part of (await open(0, size)) as AsyncIterable<Buffer>) parts.push(part);
        const content = Buffer.concat(parts);
        if (content.length !== size) throw new BlobError('StoreFailed', 'The store gave less than the blob');
        return content;
      },
      close: async () => undefined,
    };
  }

  /** Counts what there is: the first time, and whenever `again` is said. */
  #look(again: boolean): Promise<void> {
    if (this.#looked === undefined || again) {
      const looked = this.#count(!again);
      this.#looked = looked;
      looked.catch(() => {
        if (this.#looked === looked) this.#looked = undefined;
      });
    }
    return this.#looked;
  }

  async #count(isFirst: boolean): Promise<void> {
    const before = this.#changes;
    const infos = new Set<string>();
    for await (const { key } of this.#bucket.all(this.#names.info)) infos.add(key);
    const oldest = this.#options.clock.now() - leftAfterMs;
    let [bytes, blobs] = [0, 0];
    for await (const { key, bytes: size, modified } of this.#bucket.all(this.#names.data)) {
      if (!infos.has(key) && modified < oldest) await this.#bucket.remove(this.#names.data + key);
      else if (infos.has(key)) [bytes, blobs] = [bytes + size, blobs + 1];
    }
    // What came or went meanwhile is counted already, and would be lost or counted twice.
    if (isFirst || (this.#coming === 0 && this.#changes === before)) this.#usage.set(bytes, blobs);
  }
}

function sizeIn(text: string): number | undefined {
  try {
    const { size } = JSON.parse(text) as { readonly size?: unknown };
    return typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? size : undefined;
  } catch {
    return undefined;
  }
}
