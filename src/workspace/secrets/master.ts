import { createHash, hkdfSync } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { CodedError, codeOf } from '#kit/errors.ts';
import { writeFileAtomic } from '#kit/files.ts';
import { workspaceErrors } from '../errors.ts';

/** Where the workspace's master comes from: a seed that the person keeps, else a file that the workspace makes. */
export interface MasterPlace {
  /** PLOINKY_MASTER_KEY, and PLOINKY_PREVIOUS_MASTER_KEY while it is being changed. */
  readonly seed: string | undefined;
  readonly previousSeed: string | undefined;
  readonly keyFile: string;
}

const shortestSeed = 32;
const keyBytes = 32;

/**
 * Masters, the current one first, the seed that is being left last. Empty: there is none yet. Throws MasterKeyInvalid for a seed under 32 characters and for
 * a file that is no key or that others may read: there is no default.
 */
export async function readMasters(place: MasterPlace): Promise<Buffer[]> {
  return [...(await currentMasters(place)), ...ofSeed(place.previousSeed)];
}

/** Those that may encrypt, the current one first; makes the file where there is none. Throws as `readMasters`. */
export async function ensureMasters(place: MasterPlace, randomKey: () => Buffer): Promise<Buffer[]> {
  const masters = await currentMasters(place);
  if (masters.length > 0) return masters;
  const master = randomKey();
  await writeMasters(place.keyFile, [master]);
  return [master];
}

async function currentMasters({ seed, keyFile }: MasterPlace): Promise<Buffer[]> {
  return [...ofSeed(seed), ...(await readKeyFile(keyFile))];
}

function ofSeed(seed: string | undefined): Buffer[] {
  return seed === undefined || seed === '' ? [] : [masterOfSeed(seed)];
}

export async function writeMasters(keyFile: string, masters: readonly Buffer[]): Promise<void> {
  await writeFileAtomic(keyFile, masters.map((master) => `${master.toString('base64')}\n`).join(''), 0o600);
}

/** The key for one purpose, as the Ploinky contract derives it: `storage/secrets`. */
export function storageKey(master: Buffer, purpose: 'storage/secrets'): Buffer {
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), `ploinky/${purpose}/v1`, keyBytes));
}

function masterOfSeed(seed: string): Buffer {
  if (seed.length >= shortestSeed) return createHash('sha256').update(seed).digest();
  throw invalid(
    `PLOINKY_MASTER_KEY has ${seed.length} characters; it needs at least ${shortestSeed}`,
    'Make one with `openssl rand -base64 48`, or leave it out: the workspace then makes a key of its own.',
  );
}

async function readKeyFile(path: string): Promise<Buffer[]> {
  const found = await stat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) return [];
  if ((found.mode & 0o077) !== 0) throw invalid(`${path} can be read by others`, `Run: chmod 600 '${path}'`);
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const key = Buffer.from(line.trim(), 'base64');
    if (key.length === keyBytes && !key.every((byte) => byte === key[0])) return key;
    throw invalid(
      `${path} is not a key of ${keyBytes} random bytes in base64`,
      'Put back the one of a copy.',
    );
  });
}

function invalid(message: string, remedy: string): CodedError {
  return new CodedError(workspaceErrors.MasterKeyInvalid, message, { remedy });
}
