import { isAbsolute, relative } from 'node:path';
import { messageOf } from '#kit/errors.ts';
import { blobUri } from '#wire/blobs.ts';
import { cleanName } from '../files/disposition.ts';
import { type OpenFile, openBeneath } from '../files/open-beneath.ts';
import { BlobError } from './errors.ts';
import { ttlWithin } from './limits.ts';
import { readMime } from './metadata.ts';
import type { Blobs } from './service.ts';

/** What a tool gives its client: a file below the workspace. */
export interface GivenFile {
  readonly path: string;
  readonly name: string | undefined;
  readonly type: string | undefined;
  /** Seconds. */
  readonly ttl: number | undefined;
}

/** An item of a result's content. */
export type Given = Record<string, unknown> & { readonly type: string };

export interface Published {
  readonly content: Given;
  /** The call came to nothing: nobody will hear of the blob. Never rejects. */
  readonly takeBack: () => Promise<void>;
}

/** A file that is opened: what its tool does to the name no longer matters. One of the two is called, once. */
export interface OpenedFile {
  /**
   * Makes a blob of it, and a link to that for the client; or says why not. Never rejects. What is not copied when `signal`
   * says so does not come to be a blob.
   */
  publish(signal: AbortSignal): Promise<Published>;
  /** Never rejects. */
  close(): Promise<void>;
}

/** Opens a file that a tool names. */
export type OpenGiven = (file: GivenFile) => OpenedFile;

export function publisher(blobs: Blobs, agent: string, workspace: string): OpenGiven {
  return (file) => {
    const below = isAbsolute(file.path) ? relative(workspace, file.path) : file.path;
    const names = below.split('/').filter((name) => name !== '.' && name !== '');
    const opening = openBeneath(workspace, names);
    opening.catch(() => undefined);
    return {
      async publish(signal) {
        try {
          return await publish(file, names.at(-1) ?? '', await opening, blobs, agent, signal);
        } catch (error) {
          const text = `The file ${file.path} cannot be given: ${messageOf(error)}`;
          return { content: { type: 'text', text }, takeBack: async () => undefined };
        }
      },
      async close() {
        await opening.then((opened) => opened?.handle.close()).catch(() => undefined);
      },
    };
  };
}

async function publish(
  file: GivenFile,
  lastName: string,
  opened: OpenFile | undefined,
  { store, limits }: Blobs,
  agent: string,
  signal: AbortSignal,
): Promise<Published> {
  if (opened === undefined) throw new BlobError('Broken', 'it is no file below the workspace');
  try {
    const filename = cleanName(file.name ?? lastName);
    const ttlSeconds = ttlWithin(file.ttl, limits);
    const about = { mime: readMime(file.type), filename, ttlSeconds, bytes: opened.stats.size };
    const body = opened.handle.createReadStream({ autoClose: false, highWaterMark: 1024 * 1024, signal });
    // The store may look at it only later, and sees then that it is destroyed.
    body.on('error', () => undefined);
    const info = await store.put({ ...about, sha256: undefined, url: undefined }, body);
    const content: Given = {
      type: 'resource_link',
      uri: blobUri(agent, info.id),
      name: info.filename ?? info.id,
      mimeType: info.mime,
      size: info.size,
      _meta: { 'ploinky.dev/sha256': info.sha256, 'ploinky.dev/path': `/blobs/${agent}/${info.id}` },
    };
    const takeBack = () =>
      store.remove(info.id).then(
        () => undefined,
        () => undefined,
      );
    return { content, takeBack };
  } finally {
    await opened.handle.close();
  }
}
