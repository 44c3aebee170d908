import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { WorkloadId } from '../workload.ts';
import type { HostPlaces, RunPlaces } from './places.ts';
import type { Slot } from './slot.ts';

/**
 * Removes what a workload that ended has left: its sockets, record and small files always; its workspace
 * folder and log, too, unless they are retained. Links are removed, never followed.
 */
export async function removeFiles(
  { id, at }: { readonly id: WorkloadId; readonly at: RunPlaces },
  places: HostPlaces,
  { retain, logKeep }: { readonly retain: boolean; readonly logKeep: number },
): Promise<void> {
  const paths = [at.folder, at.files];
  if (!retain) {
    const log = places.log(id);
    const older = Array.from({ length: logKeep }, (_, index) => `${log}.${index + 1}`);
    paths.push(places.workspace(id), log, ...older);
  }
  for (const path of paths) await rm(path, { recursive: true, force: true });
}

/** Whether anything of a workload is left: in memory, or as the files that always go. */
export function isThere({ run, failure, at }: Pick<Slot, 'run' | 'failure' | 'at'>): boolean {
  return run !== undefined || failure !== undefined || existsSync(at.folder) || existsSync(at.files);
}
