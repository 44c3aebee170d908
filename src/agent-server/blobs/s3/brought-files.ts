import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, unlink } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Clock } from '#kit/clock.ts';
import type { BlobInfo } from '#wire/blobs.ts';
import { inFolder, openBeneath, openFolder } from '../../files/open-beneath.ts';
import { BlobError } from '../errors.ts';
import { infoText } from '../metadata.ts';

/** Copies of blobs in the workspace, where tools look for what a call names. */
export interface BroughtFiles {
  /** Resolves when it is there, whole. `get` is asked where it is not there yet. */
  bring(info: BlobInfo, get: () => Promise<IncomingMessage>): Promise<void>;
  forget(id: string): Promise<void>;
  /** Removes those that are no blobs any more, and those that no call has named for a day. */
  sweep(isThere: (id: string) => Promise<boolean>): Promise<void>;
}

const keptMs = 24 * 60 * 60 * 1000;
const folderName = 'blobs';
const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export function broughtFiles(workspace: string, clock: Clock): BroughtFiles {
  const path = join(workspace, folderName);
  /** When a call last named it. */
  const asked = new Map<string, number>();
  const coming = new Map<string, Promise<void>>();

  async function fetch(info: BlobInfo, get: () => Promise<IncomingMessage>): Promise<void> {
    const there = await openBeneath(workspace, [folderName, info.id]);
    await there?.handle.close();
    if (there?.stats.size === info.size) return;
    await mkdir(path, { recursive: true, mode: 0o770 });
    const folder = await openFolder(workspace, folderName);
    try {
      await write(inFolder(folder, `${info.id}.json`, path), async (file) =>
        file.writeFile(infoText(info, undefined)),
      );
      await write(inFolder(folder, info.id, path), async (file) => copy(await get(), file, info.size));
    } finally {
      await folder.close();
    }
  }
  async function forget(id: string): Promise<void> {
    if (!asked.delete(id)) return;
    const folder = await openFolder(workspace, folderName).catch(() => undefined);
    for (const name of folder === undefined ? [] : [id, `${id}.json`])
      if (folder !== undefined) await unlink(inFolder(folder, name, path)).catch(() => undefined);
    await folder?.close();
  }
  return {
    bring(info, get) {
      asked.set(info.id, clock.now());
      const running = coming.get(info.id) ?? fetch(info, get).finally(() => coming.delete(info.id));
      coming.set(info.id, running);
      return running;
    },
    forget,
    async sweep(isThere) {
      const oldest = clock.now() - keptMs;
      for (const [id, at] of [...asked]) if (at < oldest || !(await isThere(id))) await forget(id);
    },
  };
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

async function copy(incoming: IncomingMessage, file: FileHandle, size: number): Promise<void> {
  let bytes = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    bytes += part.length;
    await file.write(part);
  }
  if (bytes !== size) throw new BlobError('StoreFailed', 'The store gave less than the blob');
}
