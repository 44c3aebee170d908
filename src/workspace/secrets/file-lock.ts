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
  await writeFile(draft, JSON.stringify(holderOf(process.pid, '', 0)), { mode: 0o600 });
  try {
    await take(path, draft);
  } finally {
    await unlink(draft);
  }
  try {
    return await use();
  } finally {
    await unlink(path).catch(() => undefined);
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
    if (await isLeft(path)) await unlink(path).catch(() => undefined);
    else await sleep(pauseMs);
  }
  throw new CodedError(workspaceErrors.SecretsBusy, `${path} is held by another command`, {
    remedy: 'Wait for it, or remove the file when nothing runs.',
  });
}

async function isLeft(path: string): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => '');
  try {
    return text !== '' && !holderRuns(JSON.parse(text));
  } catch {
    return true;
  }
}
