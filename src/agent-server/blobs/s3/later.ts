import type { BlobStore } from '../store.ts';
import type { OpenS3Options } from './open-s3.ts';

/** The store in a bucket. What it needs is loaded when it is first asked: other agents do without. */
export function s3Later(options: OpenS3Options): BlobStore {
  let made: Promise<BlobStore> | undefined;
  const store = () => {
    made ??= import('./open-s3.ts').then(({ openS3 }) => openS3(options));
    return made;
  };
  return {
    put: async (upload, body) => (await store()).put(upload, body),
    find: async (id) => (await store()).find(id),
    list: async (limit, after) => (await store()).list(limit, after),
    remove: async (id) => (await store()).remove(id),
    usage: async () => (await store()).usage(),
    bring: async (id) => (await store()).bring(id),
    sweep: async () => (await store()).sweep(),
  };
}
