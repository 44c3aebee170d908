import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Random } from '#kit/random.ts';
import { type BlobInfo, blobId, isBlobId } from '#wire/blobs.ts';
import { inFolder, type OpenFile, openBeneath, openFolder } from '../files/open-beneath.ts';
import { sendRange } from '../files/send-range.ts';
import { BlobError } from './errors.ts';
import type { Hasher } from './hashing/hasher.ts';
import { writeAndHash } from './hashing/write-and-hash.ts';
import { type BlobLimits, createUsage, type Usage } from './limits.ts';
import { describeBlob, infoText, isExpired, readInfo } from './metadata.ts';
import { openRoom, type Room } from './room.ts';
import type { BlobPage, BlobStore, FoundBlob, Upload } from './store.ts';
import { type TakeBatch, takeBody } from './take-body.ts';
import { createWriter, reclaimAfter } from './writer.ts';

export interface FolderStoreOptions {
  /** The agent's workspace; blobs are in `blobs` below it, each with `<id>.json` beside it. */
  readonly workspace: string;
  readonly agent: string;
  readonly slot: number | undefined;
  readonly limits: BlobLimits;
  readonly clock: Clock;
  readonly random: Random;
  /** Milliseconds without a byte after which an upload has broken off. */
  readonly idleMs: number;
  readonly hasher: Hasher;
  /** Frees what died young. Default: it is left to the runtime. */
  readonly reclaim?: (() => void) | undefined;
}

const folderName = 'blobs';
const batchBytes = 512 * 1024;
const longestInfo = 64 * 1024;

export function createFolderStore(options: FolderStoreOptions): BlobStore {
  return new FolderStore(options);
}

class FolderStore implements BlobStore {
  readonly #options: FolderStoreOptions;
  readonly #path: string;
  readonly #usage: Usage;
  /** As last seen; what agents do to the folder themselves is seen by the next look. */
  readonly #known = new Map<string, BlobInfo>();
  readonly #coming = new Set<string>();
  #looked: Promise<void> | undefined;
  readonly #onWritten: (bytes: number) => void;

  constructor(options: FolderStoreOptions) {
    this.#options = options;
    this.#onWritten = reclaimAfter(options.reclaim);
    this.#path = join(options.workspace, folderName);
    this.#usage = createUsage(options.limits);
  }

  async put(upload: Upload, body: Readable): Promise<BlobInfo> {
    const { limits, random, slot } = this.#options;
    await this.#look();
    await this.#makeRoom(upload.bytes ?? 0);
    const id = upload.id ?? blobId(random.bytes(22), slot);
    if (this.#coming.has(id)) throw new BlobError('StoreFailed', 'This blob is on its way already');
    const room = openRoom(this.#usage, limits, upload.bytes);
    try {
      this.#coming.add(id);
      const info = await this.#take(id, upload, body, room);
      this.#known.set(id, info);
      return info;
    } catch (error) {
      room.giveBack();
      throw translate(error);
    } finally {
      this.#coming.delete(id);
    }
  }

  async find(id: string): Promise<FoundBlob | undefined> {
    const { workspace, clock } = this.#options;
    const file = await openBeneath(workspace, [folderName, id]);
    if (file === undefined) return undefined;
    const info = await this.#infoOf(id, file.stats.size);
    if (info !== undefined && !isExpired(info, clock.now())) return foundIn(file, info);
    await file.handle.close();
    return undefined;
  }

  async list(limit: number, after = ''): Promise<BlobPage> {
    await this.#look(true);
    const now = this.#options.clock.now();
    const left = [...this.#known.values()]
      .filter((info) => info.id > after && !isExpired(info, now))
      .sort((one, other) => (one.id < other.id ? -1 : 1));
    const blobs = left.slice(0, limit);
    const last = blobs.at(-1);
    return left.length > blobs.length && last !== undefined ? { blobs, next: last.id } : { blobs };
  }

  async remove(id: string): Promise<boolean> {
    const folder = await this.#open();
    if (folder === undefined) return false;
    try {
      // The blob first: what is left of it then is nothing that could be found.
      const gone = await this.#unlink(folder, id);
      await this.#unlink(folder, `${id}.json`);
      if (gone) await folder.sync();
      const known = this.#known.get(id);
      this.#known.delete(id);
      if (known !== undefined) {
        this.#usage.release(known.size);
        this.#usage.end();
      }
      return gone;
    } finally {
      await folder.close();
    }
  }

  async usage(): Promise<{ readonly bytes: number; readonly blobs: number }> {
    await this.#look(true);
    return { bytes: this.#usage.bytes, blobs: this.#usage.blobs };
  }

  async bring(id: string): Promise<boolean> {
    const found = await this.find(id);
    await found?.close();
    return found !== undefined;
  }

  async sweep(): Promise<void> {
    await this.#look(true);
    const now = this.#options.clock.now();
    for (const info of [...this.#known.values()]) if (isExpired(info, now)) await this.remove(info.id);
  }

  /** Agents may have removed some themselves, and some may have expired. */
  async #makeRoom(bytes: number): Promise<void> {
    const { maxBytes, maxBlobs } = this.#options.limits;
    if (this.#usage.bytes + bytes > maxBytes || this.#usage.blobs >= maxBlobs) await this.sweep();
  }

  async #take(id: string, upload: Upload, body: Readable, room: Room): Promise<BlobInfo> {
    await mkdir(this.#path, { recursive: true, mode: 0o770 });
    const folder = await openFolder(this.#options.workspace, folderName);
    try {
      const draft = inFolder(folder, `${id}.part`, this.#path);
      try {
        const { bytes, sha256 } = await this.#write(draft, upload, body, room);
        const info = describeBlob({ id, size: bytes, sha256 }, upload, this.#options);
        await this.#publish(folder, draft, info, upload.url);
        return info;
      } catch (error) {
        await unlink(draft).catch(() => undefined);
        await this.#unlink(folder, `${id}.json`);
        throw error;
      }
    } finally {
      await folder.close();
    }
  }

  async #write(
    draft: string,
    upload: Upload,
    body: Readable,
    room: Room,
  ): Promise<{ readonly bytes: number; readonly sha256: string }> {
    const { clock, idleMs, hasher } = this.#options;
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(draft, flags, 0o640);
    const hash = hasher.begin(upload.bytes);
    try {
      const keep = writeAndHash(createWriter(file, this.#onWritten), hash);
      const take: TakeBatch = async (chunks, bytes, release) => {
        room.take(bytes);
        await keep(chunks, bytes, release);
      };
      const bytes = await takeBody(body, { batchBytes, take, clock, idleMs });
      const [sha256] = await Promise.all([hash.digest(), file.sync()]);
      if (upload.sha256 !== undefined && upload.sha256 !== sha256)
        throw new BlobError('DigestMismatch', `The content has SHA-256 ${sha256}, not the one that was said`);
      room.settle(bytes);
      return { bytes, sha256 };
    } finally {
      hash.close();
      await file.close();
    }
  }

  /** Its description first: a blob that can be found has one. */
  async #publish(folder: FileHandle, draft: string, info: BlobInfo, url: string | undefined): Promise<void> {
    const beside = inFolder(folder, `${info.id}.json`, this.#path);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(beside, flags, 0o640);
    try {
      await file.writeFile(infoText(info, url));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, inFolder(folder, info.id, this.#path));
    await folder.sync();
  }

  async #infoOf(id: string, size: number): Promise<BlobInfo | undefined> {
    const file = await openBeneath(this.#options.workspace, [folderName, `${id}.json`]);
    if (file === undefined) return undefined;
    try {
      if (file.stats.size > longestInfo) return undefined;
      return readInfo(await file.handle.readFile('utf8'), id, size);
    } finally {
      await file.handle.close();
    }
  }

  /** Looks at the folder: the first time, which also removes what a crash left, and whenever `again` is said. */
  #look(again = false): Promise<void> {
    if (this.#looked === undefined) this.#looked = this.#refresh(true);
    else if (again) this.#looked = this.#looked.catch(() => undefined).then(() => this.#refresh(false));
    return this.#looked;
  }

  async #refresh(isFirst: boolean): Promise<void> {
    const folder = await this.#open();
    if (folder === undefined) {
      this.#known.clear();
      this.#usage.set(0, this.#coming.size);
      return;
    }
    try {
      const names = new Set(await readdir(inFolder(folder, '.', this.#path)));
      if (isFirst) await this.#removeDrafts(folder, names);
      for (const id of this.#known.keys()) if (!names.has(id)) this.#known.delete(id);
      for (const id of names) if (isBlobId(id) && !this.#known.has(id)) await this.#learn(id);
      if (this.#coming.size > 0) return;
      const bytes = [...this.#known.values()].reduce((sum, { size }) => sum + size, 0);
      this.#usage.set(bytes, this.#known.size);
    } finally {
      await folder.close();
    }
  }

  /** At the start, when nothing is on its way in: what a crash left, which nobody can find. */
  async #removeDrafts(folder: FileHandle, names: ReadonlySet<string>): Promise<void> {
    for (const name of names) {
      const id = /^([0-9a-f]{48})\.(?:part|json)$/.exec(name)?.[1];
      if (id !== undefined && (name.endsWith('.part') || !names.has(id))) await this.#unlink(folder, name);
    }
  }

  async #learn(id: string): Promise<void> {
    const file = await openBeneath(this.#options.workspace, [folderName, id]);
    await file?.handle.close();
    const info = file === undefined ? undefined : await this.#infoOf(id, file.stats.size);
    if (info !== undefined) this.#known.set(id, info);
  }

  async #open(): Promise<FileHandle | undefined> {
    return openFolder(this.#options.workspace, folderName).catch(() => undefined);
  }

  async #unlink(folder: FileHandle, name: string): Promise<boolean> {
    return unlink(inFolder(folder, name, this.#path)).then(
      () => true,
      () => false,
    );
  }
}

function foundIn({ handle, stats }: OpenFile, info: BlobInfo): FoundBlob {
  const { size, mtimeMs } = stats;
  const version = `${Math.floor(mtimeMs).toString(36)}-${size.toString(36)}`;
  return {
    info,
    validators: { etag: `"${info.sha256.slice(0, 32)}-${version}"`, modified: mtimeMs, size },
    send: (range, response) => sendRange(handle, range, response),
    read: async () => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0);
      return buffer.subarray(0, bytesRead);
    },
    close: () => handle.close(),
  };
}

function translate(error: unknown): BlobError {
  if (error instanceof BlobError) return error;
  const code = codeOf(error);
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG')
    return new BlobError('DiskFull', 'There is no room on the disk for this blob', { cause: error });
  return new BlobError('StoreFailed', `The blob cannot be kept: ${code ?? messageOf(error)}`, {
    cause: error,
  });
}
