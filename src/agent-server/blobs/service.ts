import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Settings } from '../config/settings.ts';
import { createFolderStore } from './folder-store.ts';
import { type BlobLimits, readBlobLimits } from './limits.ts';
import type { BlobStore } from './store.ts';

export interface Blobs {
  readonly store: BlobStore;
  readonly limits: BlobLimits;
  /** Sweeps no more. */
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
}

/** The agent's blobs, where its configuration says that they are. Looks after them from now on until it is closed. */
export function openBlobs({ config, settings, clock, random, log, reclaim }: BlobsOptions): Blobs {
  const limits = readBlobLimits(config.blobs?.limits ?? {});
  const { name: agent, slot } = config.agent;
  const idleMs = settings.blobIdleMs;
  const { workspace } = config.paths;
  const store = createFolderStore({ workspace, agent, slot, limits, clock, random, idleMs, reclaim });
  return { store, limits, close: sweepOn(store, clock, settings.blobSweepMs, log) };
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
