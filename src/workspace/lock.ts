import { link, mkdir, readdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CodedError, codeOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { identifyProcess, isRunning, type ProcessIdentity } from '#kit/process.ts';
import type { Random } from '#kit/random.ts';
import { workspaceErrors } from './errors.ts';

/** Who holds a workspace, as others read it. */
export interface Holder {
  readonly pid: number;
  /** Where its router listens. */
  readonly url: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Absent where the system has no /proc; then the pid alone must do. */
  readonly identity?: ProcessIdentity;
}

/**
 * The lock is the last of the files `lock.<n>` in a folder, and it is held while the process it names runs:
 * it dies with its holder, and nothing has to be removed in time. Taking it over means making `lock.<n+1>`,
 * which only one of many contenders can (link(2) fails when the name exists). So the last record is never
 * removed: a contender that read an older one must find that its next number is taken.
 */
export async function takeLock(folder: string, mine: Holder, random: Random): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = join(folder, `draft.${mine.pid}.${random.bytes(6).toString('hex')}`);
  await writeFile(draft, JSON.stringify(mine), { mode: 0o600 });
  try {
    await linkNext(folder, draft);
  } finally {
    await unlink(draft);
  }
}

async function linkNext(folder: string, draft: string): Promise<void> {
  for (;;) {
    const last = await lastRecord(folder);
    if (last.holder !== undefined && holderRuns(last.holder)) throw alreadyRunning(last.holder);
    if (await linkAs(folder, draft, last.number + 1)) {
      await removeOlder(folder, last.number);
      return;
    }
  }
}

/**
 * False when another contender has the number, or a later one: a number below the last may be free again
 * because its record was removed as an older one, and a slow contender would take it for the next.
 */
async function linkAs(folder: string, draft: string, number: number): Promise<boolean> {
  const path = join(folder, `lock.${number}`);
  try {
    await link(draft, path);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
  if (Math.max(...(await recordNumbers(folder))) === number) return true;
  await unlink(path).catch(() => undefined);
  return false;
}

/** Who holds the lock now, or undefined. */
export async function findHolder(folder: string): Promise<Holder | undefined> {
  const { holder } = await lastRecord(folder);
  return holder !== undefined && holderRuns(holder) ? holder : undefined;
}

/** The holder for a process that takes the lock for itself. */
export function holderOf(pid: number, url: string, startedAt: number): Holder {
  const identity = identifyProcess(pid);
  return identity === undefined ? { pid, url, startedAt } : { pid, url, startedAt, identity };
}

async function lastRecord(folder: string): Promise<{ number: number; holder: Holder | undefined }> {
  const numbers = await recordNumbers(folder);
  const number = Math.max(0, ...numbers);
  if (number === 0) return { number, holder: undefined };
  const text = await readFile(join(folder, `lock.${number}`), 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  // Gone between the listing and the reading: a newer record replaced it.
  if (text === undefined) return lastRecord(folder);
  return { number, holder: parseHolder(text) };
}

async function recordNumbers(folder: string): Promise<number[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  return names.flatMap((name) => {
    const match = /^lock\.(\d{1,9})$/.exec(name);
    return match === null ? [] : [Number(match[1])];
  });
}

async function removeOlder(folder: string, upTo: number): Promise<void> {
  const older = (await recordNumbers(folder)).filter((number) => number <= upTo);
  await Promise.all(older.map((number) => unlink(join(folder, `lock.${number}`)).catch(() => undefined)));
}

function parseHolder(text: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || typeof value['pid'] !== 'number' || typeof value['url'] !== 'string') {
      return undefined;
    }
    return value as unknown as Holder;
  } catch {
    return undefined;
  }
}

export function holderRuns(holder: Holder): boolean {
  if (holder.identity !== undefined) return isRunning(holder.identity);
  try {
    process.kill(holder.pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

export function alreadyRunning(holder: Holder): CodedError {
  const message = `this workspace is up already: pid ${holder.pid}, ${holder.url}`;
  return new CodedError(workspaceErrors.AlreadyRunning, message, {
    remedy: 'Change its agents with `ploinky apply -f …`, or stop it with `ploinky down`.',
  });
}
