import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Settings } from '../config/settings.ts';
import type { HeldSecrets } from '../upstream/remote/secrets.ts';
import { createFolderStore } from './folder-store.ts';
import { createHasher } from './hashing/hasher.ts';
import { type BlobLimits, readBlobLimits } from './limits.ts';
import { s3Later } from './s3/later.ts';
import type { BlobStore } from './store.ts';

export interface Blobs {
  readonly store: BlobStore;
  readonly limits: BlobLimits;
  /** Of its ids; undefined: any replica finds them. */
  readonly slot: number | undefined;
  /** All replicas have the same; a tool finds them after `bring`. */
  readonly shared: boolean;
  /** Sweeps no more, and takes no more. */
  close(): void;
}

export interface BlobsOptions {
  readonly config: AgentServerConfig;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** As FolderStoreOptions. */
  readonly reclaim?: (() => void) | undefined;
  /** What a store elsewhere is asked with; asked at each request. */
  readonly secrets: HeldSecrets['current'];
}

/** The agent's blobs, where its configuration says that they are. Looks after them from now on until it is closed. */
export function openBlobs({ config, settings, clock, random, log, reclaim, secrets }: BlobsOptions): Blobs {
  const limits = readBlobLimits(config.blobs?.limits ?? {});
  const { name: agent } = config.agent;
  const s3 = config.blobs?.s3;
  const slot = s3 === undefined ? config.agent.slot : undefined;
  const idleMs = settings.blobIdleMs;
  const { workspace } = config.paths;
  const hasher = createHasher({ clock });
  const store =
    s3 === undefined
      ? createFolderStore({ workspace, agent, slot, limits, clock, random, idleMs, hasher, reclaim })
      : s3Later({
          ...{ s3, config, limits, secrets, clock, random, log, idleMs },
          ...{ bufferBytes: settings.blobBufferBytes, copyBytes: settings.blobCopyBytes },
        });
  const stopSweeping = sweepOn(store, clock, settings.blobSweepMs, log);
  const close = () => {
    stopSweeping();
    hasher.close();
  };
  return { store, limits, slot, shared: s3 !== undefined, close };
}

function sweepOn(store: BlobStore, clock: Clock, everyMs: number, log: Log): () => void {
  let closed = false;
  let cancel = () => {};
  const look = () => {
    store
      .sweep()
      .catch((error: unknown) => log.warn('Blobs could not be looked through', { error: messageOf(error) }))
      .finally(() => {
        if (!closed) cancel = clock.after(everyMs, look);
      });
  };
  look();
  return () => {
    closed = true;
    cancel();
  };
}
