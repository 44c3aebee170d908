import { readFile } from 'node:fs/promises';
import { codeOf } from '#kit/errors.ts';
import { writeFileAtomic } from '#kit/files.ts';
import type { Random } from '#kit/random.ts';
import { withFileLock } from './file-lock.ts';
import { ensureMasters, type MasterPlace, readMasters, storageKey, writeMasters } from './master.ts';
import { noSecrets, openSecrets, type StoredSecrets, sealSecrets } from './sealed-file.ts';

export interface SecretStoreOptions {
  /** `.ploinky/.secrets`. */
  readonly path: string;
  readonly master: MasterPlace;
  readonly random: Random;
}

/** The workspace's own secrets, encrypted on disk. */
export interface SecretStore {
  readonly path: string;
  /** Throws SecretsUnreadable, SecretsPlain, MasterKeyInvalid. No file: no secrets. */
  read(): Promise<StoredSecrets>;
  /**
   * Replaces the file by what `edit` makes of it, one change after the other, whoever makes them. `anew` is the
   * file's text when it was not encrypted yet, which `edit` brings along: while it still is that, it is not read.
   */
  change(
    edit: (stored: StoredSecrets) => StoredSecrets,
    options?: { readonly anew?: string | undefined },
  ): Promise<void>;
  /**
   * Encrypts everything with a new master of the file; with a seed, with that one. The old one stays valid until the
   * file is written, so that a rekey that is cut anywhere is only to be called again.
   */
  rekey(): Promise<void>;
}

const purpose = 'storage/secrets';

export function openSecretStore({ path, master, random }: SecretStoreOptions): SecretStore {
  const keysOf = (masters: readonly Buffer[]) => masters.map((each) => storageKey(each, purpose));
  const load = async (keys: readonly Buffer[], anew?: string) => {
    const text = await readIfThere(path);
    return text === undefined || text === anew ? noSecrets : openSecrets(text, keys, path);
  };
  const save = (stored: StoredSecrets, key: Buffer) =>
    writeFileAtomic(path, sealSecrets(stored, key, random.bytes(12)), 0o600);
  const locked = <T>(run: () => Promise<T>) => withFileLock(`${path}.lock`, run);
  return {
    path,
    read: async () => load(keysOf(await readMasters(master))),
    change: (edit, { anew } = {}) =>
      locked(async () => {
        // Read before there may be a new key, which would not open what is there: then it must be an error.
        const stored = await load(keysOf(await readMasters(master)), anew);
        const [current] = keysOf(await ensureMasters(master, () => random.bytes(32)));
        if (current !== undefined) await save(edit(stored), current);
      }),
    rekey: () =>
      locked(async () => {
        const masters = await readMasters(master);
        const stored = await load(keysOf(masters));
        const isSeeded = master.seed !== undefined && master.seed !== '';
        const next = isSeeded ? masters[0] : random.bytes(32);
        if (next === undefined) return;
        if (!isSeeded) await writeMasters(master.keyFile, [next, ...masters]);
        await save(stored, storageKey(next, purpose));
        if (!isSeeded) await writeMasters(master.keyFile, [next]);
      }),
  };
}

async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
}
