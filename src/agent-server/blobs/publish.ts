import { isAbsolute, relative } from 'node:path';
import { messageOf } from '#kit/errors.ts';
import { blobUri } from '#wire/blobs.ts';
import { cleanName } from '../files/disposition.ts';
import { openBeneath } from '../files/open-beneath.ts';
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

/** Makes a blob of a file that a tool names, and a link to it for the client; or says why not. Never rejects. */
export type PublishFile = (file: GivenFile) => Promise<Published>;

export function publisher(blobs: Blobs, agent: string, workspace: string): PublishFile {
  return async (file) => {
    try {
      return await publish(file, blobs, agent, workspace);
    } catch (error) {
      const text = `The file ${file.path} cannot be given: ${messageOf(error)}`;
      return { content: { type: 'text', text }, takeBack: async () => undefined };
    }
  };
}

async function publish(
  file: GivenFile,
  { store, limits }: Blobs,
  agent: string,
  workspace: string,
): Promise<Published> {
  const below = isAbsolute(file.path) ? relative(workspace, file.path) : file.path;
  const names = below.split('/').filter((name) => name !== '.' && name !== '');
  const opened = await openBeneath(workspace, names);
  if (opened === undefined) throw new BlobError('Broken', 'it is no file below the workspace');
  try {
    const filename = cleanName(file.name ?? names.at(-1) ?? '');
    const ttlSeconds = ttlWithin(file.ttl, limits);
    const about = { mime: readMime(file.type), filename, ttlSeconds, bytes: opened.stats.size };
    const body = opened.handle.createReadStream({ autoClose: false, highWaterMark: 1024 * 1024 });
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
