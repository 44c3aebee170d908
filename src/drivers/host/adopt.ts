import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomic } from '#kit/files.ts';
import type { WorkloadId } from '../workload.ts';
import { type HostPlaces, runPlaces } from './places.ts';
import { readRecord } from './record.ts';
import type { WorkloadRecord } from './shim/record-file.ts';

const idSchema = z.object({ namespace: z.string(), name: z.string(), uid: z.string() });
const idFile = 'workload.json';

/** Notes which workload a folder belongs to, before anything else of it exists. */
export async function noteWorkload(files: string, id: WorkloadId): Promise<void> {
  const path = join(files, idFile);
  const text = `${JSON.stringify(id)}\n`;
  if ((await readFile(path, 'utf8').catch(() => '')) !== text) await writeFileAtomic(path, text);
}

export interface Found {
  readonly key: string;
  readonly path: string;
  readonly record: WorkloadRecord;
}

/** Records that shims left: of what runs and of what ended since. */
export async function findRecords(places: HostPlaces): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const key of await namesIn(places.workloads)) {
    const path = runPlaces(places, key).record;
    const record = readRecord(path);
    if (record !== undefined && record.key === key) found.push({ key, path, record });
  }
  return found;
}

/** Workloads that have files, whether or not anything runs: the sockets' folder does not survive a reboot. */
export async function findNoted(places: HostPlaces): Promise<readonly WorkloadId[]> {
  const ids: WorkloadId[] = [];
  for (const key of await namesIn(places.files)) {
    const text = await readFile(join(places.files, key, idFile), 'utf8').catch(() => undefined);
    const id = text === undefined ? undefined : idSchema.safeParse(parseJson(text)).data;
    if (id !== undefined) ids.push(id);
  }
  return ids;
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
