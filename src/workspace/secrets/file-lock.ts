import { link, readFile, unlink, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError, codeOf } from '#kit/errors.ts';
import { workspaceErrors } from '../errors.ts';
import { holderOf, holderRuns } from '../lock.ts';

const tries = 100;
const pauseMs = 50;
let counter = 0;

/**
 * Runs `use` while nobody else on this machine holds `path`. A holder that ended without letting go is passed over.
 * Throws SecretsBusy after five seconds.
 */
export async function withFileLock<T>(path: string, use: () => Promise<T>): Promise<T> {
  counter += 1;
  const draft = `${path}.${process.pid}.${counter}`;
  // Named, so that what two takes of one process wrote is not the same.
  const mine = JSON.stringify({ ...holderOf(process.pid, '', 0), draft });
  await writeFile(draft, mine, { mode: 0o600 });
  try {
    await take(path, draft);
  } finally {
    await unlink(draft);
  }
  try {
    return await use();
  } finally {
    if ((await textOf(path)) === mine) await unlink(path).catch(() => undefined);
  }
}

async function take(path: string, draft: string): Promise<void> {
  for (let attempt = 0; attempt < tries; attempt += 1) {
    try {
      await link(draft, path);
      return;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    if (isLeft(await textOf(path))) await removeLeft(path, draft);
    else await sleep(pauseMs);
  }
  throw new CodedError(workspaceErrors.SecretsBusy, `${path} is held by another command`, {
    remedy: 'Wait for it, or remove the file when nothing runs.',
  });
}

/**
 * Removes the lock of a holder that has ended. One at a time, and only after another look: who read it before may be late,
 * and would take it from under the next holder.
 */
async function removeLeft(path: string, draft: string): Promise<void> {
  const guard = `${path}.left`;
  try {
    await link(draft, guard);
  } catch {
    // Held for as long as two calls take; left only by who was killed between them.
    if (isLeft(await textOf(guard))) await unlink(guard).catch(() => undefined);
    else await sleep(1);
    return;
  }
  try {
    if (isLeft(await textOf(path))) await unlink(path).catch(() => undefined);
  } finally {
    await unlink(guard).catch(() => undefined);
  }
}

/** Empty: it is not there. */
function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

function isLeft(text: string): boolean {
  try {
    return text !== '' && !holderRuns(JSON.parse(text));
  } catch {
    return true;
  }
}
