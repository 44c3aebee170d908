import type { Readable } from 'node:stream';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import { type BlobInfo, blobId, isBlobId } from '#wire/blobs.ts';
import { BlobError } from '../errors.ts';
import { type BlobLimits, createUsage, type Usage } from '../limits.ts';
import { describeBlob, infoText, isExpired, readInfo } from '../metadata.ts';
import { openRoom } from '../room.ts';
import type { BlobPage, BlobStore, FoundBlob, Upload } from '../store.ts';
import { partsOf } from './body.ts';
import { type BroughtFiles, broughtFiles } from './brought-files.ts';
import { type Bucket, bucketOf } from './bucket.ts';
import type { S3Client } from './client.ts';
import { foundIn } from './found.ts';
import { type Counted, createLedger, type Ledger } from './ledger.ts';
import { type Names, namesBelow, readEnd } from './names.ts';
import { uploadObject } from './object-upload.ts';
import { createPartBudget, type PartBudget } from './part-budget.ts';

export interface S3StoreOptions {
  readonly client: S3Client;
  /** Has connections of its own: those of slow clients keep nobody else waiting. */
  readonly downloads: S3Client;
  /** Of all keys; may be empty. */
  readonly prefix: string;
  readonly namespace: string;
  readonly agent: string;
  /** Where tools find blobs that calls name. */
  readonly workspace: string;
  readonly limits: BlobLimits;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Milliseconds without a byte after which an upload, or the store, has broken off. */
  readonly idleMs: number;
  /** Bytes that uploads hold in memory together. */
  readonly bufferBytes: number;
  /** Bytes of the copies for tools. */
  readonly copyBytes: number;
  /** Bytes that are sent at once; more where blobs may be that large. */
  readonly partBytes?: number;
}

const mebibyte = 1024 * 1024;
const mostParts = 10_000;
/** What nobody can find is left from a crash when it is that old. */
const leftAfterMs = 24 * 60 * 60 * 1000;
const askedAtOnce = 16;
const sweptAgainMs = 10_000;

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
  readonly #budget: PartBudget;
  readonly #brought: BroughtFiles;
  readonly #ledger: Ledger;
  readonly #removing = new Map<string, Promise<boolean>>();
  #looked: Promise<void> | undefined;
  #sweeping: Promise<void> | undefined;
  /** Monotonic milliseconds. */
  #swept = Number.NEGATIVE_INFINITY;

  constructor(options: S3StoreOptions) {
    const { client, limits, prefix, namespace, agent, workspace, clock } = options;
    this.#options = options;
    this.#bucket = bucketOf(client);
    this.#names = namesBelow(prefix, namespace, agent);
    this.#usage = createUsage(limits);
    this.#ledger = createLedger(this.#usage);
    const least = Math.ceil(limits.maxBlobBytes / mostParts / mebibyte) * mebibyte;
    this.#partBytes = Math.max(options.partBytes ?? 8 * mebibyte, least);
    this.#budget = createPartBudget({ bytes: options.bufferBytes, clock, waitMs: options.idleMs });
    this.#brought = broughtFiles({ workspace, clock, maxBytes: options.copyBytes });
  }

  async put(upload: Upload, body: Readable): Promise<BlobInfo> {
    await this.#makeRoom(upload.bytes ?? 0);
    // A part under way and one that is gathered; of a small one itself, and it again in one piece.
    const giveBack = await this.#budget.hold(Math.min(upload.bytes ?? Infinity, this.#partBytes) * 2);
    try {
      return await this.#put(upload, body);
    } finally {
      giveBack();
    }
  }

  async #put(upload: Upload, body: Readable): Promise<BlobInfo> {
    const { limits, random, client, clock, idleMs } = this.#options;
    const partBytes = this.#partBytes;
    const id = upload.id ?? blobId(random.bytes(22), undefined);
    const key = this.#names.data + id;
    const room = openRoom(this.#usage, limits, upload.bytes);
    if (!this.#ledger.coming(id, room)) {
      room.giveBack();
      throw new BlobError('StoreFailed', 'This blob is on its way already');
    }
    try {
      const taken = await uploadObject({ client, key, upload, body, room, partBytes, clock, idleMs });
      const info = describeBlob({ id, size: taken.bytes, sha256: taken.sha256 }, upload, this.#options);
      await this.#publish(info, upload.url);
      this.#ledger.came(id, info.size);
      return info;
    } catch (error) {
      this.#ledger.failed(id);
      throw error;
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
    return this.#removeOnce(id, () => true);
  }

  /** Two at once would both give its place back. */
  async #removeOnce(id: string, mayGo: (info: BlobInfo) => boolean): Promise<boolean> {
    for (let before = this.#removing.get(id); before !== undefined; before = this.#removing.get(id))
      await before.catch(() => undefined);
    const removing = this.#remove(id, mayGo).finally(() => this.#removing.delete(id));
    this.#removing.set(id, removing);
    return removing;
  }

  async #remove(id: string, mayGo: (info: BlobInfo) => boolean): Promise<boolean> {
    const info = await this.#infoOf(id);
    if (info === undefined || !mayGo(info)) {
      if (info === undefined) await this.#removeContent(id);
      return false;
    }
    this.#ledger.leaving(id, info.size);
    try {
      // What is found by comes first; then nothing that is left could be found.
      await this.#bucket.remove(this.#names.info + id);
      await this.#removeContent(id);
      if (info.expiresAt !== undefined) await this.#bucket.remove(this.#names.end(info.expiresAt, id));
      this.#ledger.left(id);
    } finally {
      this.#ledger.stays(id);
    }
    return !isExpired(info, this.#options.clock.now());
  }

  async #removeContent(id: string): Promise<void> {
    await this.#bucket.remove(this.#names.data + id);
    await this.#brought.forget(id);
  }

  async usage(): Promise<{ readonly bytes: number; readonly blobs: number }> {
    await this.#look(false);
    return { bytes: this.#usage.bytes, blobs: this.#usage.blobs };
  }

  async bring(id: string): Promise<boolean> {
    const info = await this.#infoOf(id);
    if (info === undefined || isExpired(info, this.#options.clock.now())) return false;
    const { client } = this.#options;
    const { clock, idleMs } = this.#options;
    const get = async () =>
      partsOf(await client.open({ method: 'GET', key: this.#names.data + id }), clock, idleMs);
    await this.#brought.bring(info, get);
    return true;
  }

  /** One at a time, for all who ask. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = undefined;
      this.#swept = this.#options.clock.monotonic();
    });
    return this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const now = this.#options.clock.now();
    for await (const { key } of this.#bucket.all(this.#names.ends)) {
      const end = readEnd(key);
      // They are in the order of their times.
      if (end !== undefined && end.at > now) break;
      // It may have been put anew, with another end.
      if (end !== undefined) await this.#removeOnce(end.id, (info) => isExpired(info, now));
      await this.#bucket.remove(this.#names.ends + key);
    }
    await this.#bucket.abortOlder(this.#names.data, now - leftAfterMs).catch((error: unknown) => {
      this.#options.log.warn('Broken uploads could not be looked for', { error: messageOf(error) });
    });
    await this.#look(true);
    await this.#brought.sweep(async (id) => (await this.#infoOf(id)) !== undefined);
  }

  /** Others may have removed some, and some may have expired; a full bucket is not looked through for every upload. */
  async #makeRoom(bytes: number): Promise<void> {
    await this.#look(false);
    const { clock, limits } = this.#options;
    const hasRoom = this.#usage.bytes + bytes <= limits.maxBytes && this.#usage.blobs < limits.maxBlobs;
    if (!hasRoom && clock.monotonic() - this.#swept >= sweptAgainMs) await this.sweep();
  }

  /** What it is found by comes last. */
  async #publish(info: BlobInfo, url: string | undefined): Promise<void> {
    const { id, expiresAt } = info;
    try {
      if (expiresAt !== undefined) await this.#bucket.put(this.#names.end(expiresAt, id), '');
      await this.#bucket.put(this.#names.info + id, infoText(info, url));
    } catch (error) {
      // Its place is given back by who took it.
      await this.#bucket.remove(this.#names.info + id).catch(() => undefined);
      await this.#bucket.remove(this.#names.data + id).catch(() => undefined);
      throw error;
    }
  }

  async #infoOf(id: string): Promise<BlobInfo | undefined> {
    const text = await this.#bucket.text(this.#names.info + id);
    if (text === undefined) return undefined;
    const size = sizeIn(text);
    return size === undefined ? undefined : readInfo(text, id, size);
  }

  #found(info: BlobInfo): FoundBlob {
    const { client, downloads, clock, idleMs } = this.#options;
    return foundIn(info, { client, downloads, key: this.#names.data + info.id, clock, idleMs });
  }

  /** Counts what there is: the first time, and whenever `again` is said. */
  #look(again: boolean): Promise<void> {
    if (this.#looked === undefined || again) {
      const looked = this.#count();
      this.#looked = looked;
      looked.catch(() => {
        if (this.#looked === looked) this.#looked = undefined;
      });
    }
    return this.#looked;
  }

  async #count(): Promise<void> {
    const ended = this.#ledger.listing();
    const listed: Counted[] = [];
    try {
      const infos = new Set<string>();
      for await (const { key } of this.#bucket.all(this.#names.info)) infos.add(key);
      const oldest = this.#options.clock.now() - leftAfterMs;
      for await (const { key, bytes, modified } of this.#bucket.all(this.#names.data)) {
        if (infos.has(key)) listed.push({ id: key, bytes });
        else if (modified < oldest) await this.#bucket.remove(this.#names.data + key);
      }
    } catch (error) {
      ended();
      throw error;
    }
    ended(listed);
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
