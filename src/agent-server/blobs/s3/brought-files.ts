import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import { type BlobInfo, isBlobId } from '#wire/blobs.ts';
import { inFolder, openBeneath, openFolder } from '../../files/open-beneath.ts';
import { BlobError } from '../errors.ts';
import { infoText } from '../metadata.ts';

/** Copies of blobs in the workspace, where tools look for what a call names. */
export interface BroughtFiles {
  /**
   * Resolves when it is there, whole. `get` is asked where it is not there yet. Rejects with BlobError `QuotaExceeded` when
   * all copies together would be too large, and all are of the last hour.
   */
  bring(info: BlobInfo, get: () => Promise<AsyncIterable<Buffer>>): Promise<void>;
  forget(id: string): Promise<void>;
  /** Removes those that are no blobs any more, and those that no call has named for a day. */
  sweep(isThere: (id: string) => Promise<boolean>): Promise<void>;
}

export interface BroughtFilesOptions {
  readonly workspace: string;
  readonly clock: Clock;
  /** Of all copies. */
  readonly maxBytes: number;
}

const hourMs = 60 * 60 * 1000;
const keptMs = 24 * hourMs;
const folderName = 'blobs';
const longestInfo = 64 * 1024;
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

interface Copy {
  readonly bytes: number;
  /** When a call last named it. */
  readonly asked: number;
}

export function broughtFiles(options: BroughtFilesOptions): BroughtFiles {
  return new Brought(options);
}

class Brought implements BroughtFiles {
  readonly #options: BroughtFilesOptions;
  readonly #path: string;
  readonly #copies = new Map<string, Copy>();
  readonly #coming = new Map<string, Promise<void>>();
  #found: Promise<void> | undefined;

  constructor(options: BroughtFilesOptions) {
    this.#options = options;
    this.#path = join(options.workspace, folderName);
  }

  async bring(info: BlobInfo, get: () => Promise<AsyncIterable<Buffer>>): Promise<void> {
    await this.#look();
    const running = this.#coming.get(info.id) ?? this.#bring(info, get);
    this.#coming.set(info.id, running);
    return running;
  }

  async forget(id: string): Promise<void> {
    await this.#look();
    // What is still being copied would come afterwards.
    await this.#coming.get(id)?.catch(() => undefined);
    if (!this.#copies.delete(id)) return;
    const folder = await openFolder(this.#options.workspace, folderName).catch(() => undefined);
    for (const name of [id, `${id}.part`, `${id}.json`, `${id}.json.part`])
      if (folder !== undefined) await unlink(inFolder(folder, name, this.#path)).catch(() => undefined);
    await folder?.close();
  }

  async sweep(isThere: (id: string) => Promise<boolean>): Promise<void> {
    await this.#look();
    const oldest = this.#options.clock.now() - keptMs;
    for (const [id, { asked }] of [...this.#copies])
      if (asked < oldest || !(await isThere(id))) await this.forget(id);
  }

  /** Before it waits for anything its place is taken: others that come at the same time count it. */
  #bring(info: BlobInfo, get: () => Promise<AsyncIterable<Buffer>>): Promise<void> {
    const { id, size: bytes } = info;
    const was = this.#copies.get(id);
    this.#copies.set(id, { bytes, asked: this.#options.clock.now() });
    const bringing = async () => {
      try {
        if (was === undefined) await this.#makeRoom(id);
        await this.#fetch(info, get);
      } catch (error) {
        if (was === undefined) this.#copies.delete(id);
        throw error;
      } finally {
        this.#coming.delete(id);
      }
    };
    return bringing();
  }

  /** The longest unused go; but a call that named one in the last hour may need it still. */
  async #makeRoom(id: string): Promise<void> {
    const { clock, maxBytes } = this.#options;
    const sum = () => [...this.#copies.values()].reduce((total, { bytes }) => total + bytes, 0);
    while (sum() > maxBytes) {
      const others = [...this.#copies].filter(([other]) => other !== id && !this.#coming.has(other));
      const [oldest] = others.sort(([, one], [, other]) => one.asked - other.asked);
      if (oldest === undefined || oldest[1].asked > clock.now() - hourMs) throw tooMuch(maxBytes);
      await this.forget(oldest[0]);
    }
  }

  async #fetch(info: BlobInfo, get: () => Promise<AsyncIterable<Buffer>>): Promise<void> {
    const { workspace } = this.#options;
    const there = await openBeneath(workspace, [folderName, info.id]);
    await there?.handle.close();
    if (there?.stats.size === info.size) return;
    await mkdir(this.#path, { recursive: true, mode: 0o770 });
    const folder = await openFolder(workspace, folderName);
    try {
      await write(inFolder(folder, `${info.id}.json`, this.#path), async (file) =>
        file.writeFile(marked(info)),
      );
      await write(inFolder(folder, info.id, this.#path), async (file) => copy(await get(), file, info.size));
    } finally {
      await folder.close();
    }
  }

  /** What was brought before this program started, and what it did not finish. */
  #look(): Promise<void> {
    this.#found ??= this.#find().catch(() => undefined);
    return this.#found;
  }

  async #find(): Promise<void> {
    const { workspace } = this.#options;
    const folder = await openFolder(workspace, folderName).catch(() => undefined);
    try {
      for (const name of folder === undefined ? [] : await readdir(inFolder(folder, '.', this.#path))) {
        const id = name.replace(/\.json$/, '');
        const copy = isBlobId(id) && name !== id ? await readMarked(workspace, id) : undefined;
        if (copy !== undefined) this.#copies.set(id, copy);
      }
    } finally {
      await folder?.close();
    }
  }
}

/** Blobs that were in the workspace before, and are no copies, have no such mark. */
function marked(info: BlobInfo): string {
  return `${JSON.stringify({ ...(JSON.parse(infoText(info, undefined)) as object), copy: true })}\n`;
}

async function readMarked(workspace: string, id: string): Promise<Copy | undefined> {
  const file = await openBeneath(workspace, [folderName, `${id}.json`]);
  if (file === undefined) return undefined;
  try {
    if (file.stats.size > longestInfo) return undefined;
    const value: unknown = JSON.parse(await file.handle.readFile('utf8'));
    const isCopy = isObject(value) && value['copy'] === true;
    return isCopy ? { bytes: Number(value['size']) || 0, asked: file.stats.mtimeMs } : undefined;
  } catch {
    return undefined;
  } finally {
    await file.handle.close();
  }
}

function tooMuch(maxBytes: number): BlobError {
  return new BlobError('QuotaExceeded', `Calls of the last hour named more than ${maxBytes} bytes of blobs`, {
    remedy: 'Call again later, or name fewer: each is copied to the disk of the agent.',
  });
}

/** Beside it first: what stands there is whole. */
async function write(path: string, fill: (file: FileHandle) => Promise<void>): Promise<void> {
  const draft = `${path}.part`;
  await unlink(draft).catch(() => undefined);
  const file = await open(draft, flags, 0o640);
  try {
    await fill(file);
    await file.close();
    await rename(draft, path);
  } catch (error) {
    await file.close().catch(() => undefined);
    await unlink(draft).catch(() => undefined);
    throw error;
  }
}

async function copy(parts: AsyncIterable<Buffer>, file: FileHandle, size: number): Promise<void> {
  let bytes = 0;
  for await (const part of parts) {
    bytes += part.length;
    await file.write(part);
  }
  if (bytes !== size) throw new BlobError('StoreFailed', 'The store gave less than the blob');
}
