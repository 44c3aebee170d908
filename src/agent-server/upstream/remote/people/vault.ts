import { hkdfSync } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '#kit/digest.ts';
import { messageOf } from '#kit/errors.ts';
import { writeFileAtomic } from '#kit/files.ts';
import type { Log } from '#kit/log.ts';
import type { WireKey } from '#wire/keys.ts';
import { seal, unseal } from '#wire/seal.ts';

export interface VaultOptions {
  readonly folder: string;
  /** The agent's keys, the current one first. */
  readonly keys: () => readonly WireKey[];
  /** What everything in it belongs to: something else opens nothing. */
  readonly owner: readonly string[];
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Secrets on disk, one file each, sealed with keys derived from the agent's: a file that was changed, or that belongs to
 * another name, agent or server, is as if it was not there.
 */
export interface Vault {
  read(name: string): Record<string, unknown> | undefined;
  /** Undefined: forgets it. What fails is in the log: the person then logs in once more. */
  write(name: string, value: object | undefined): Promise<void>;
  /** The keys are others: what is sealed with an older one than the current is sealed anew, before that one goes. */
  rotate(): Promise<void>;
  /** Everything that was to be written is. */
  settled(): Promise<void>;
}

/** Characters of one sealed file. */
const longest = 4 * 1024 * 1024;

export function openVault({ folder, keys, owner, log, now }: VaultOptions): Vault {
  const fileOf = (name: string) => `${sha256Hex(name).slice(0, 40)}.sealed`;
  const sealing: Sealing = {
    keys: () => keys().map(derived),
    purposeOf: (file) => JSON.stringify(['upstream-login', ...owner, file]),
  };
  const { purposeOf } = sealing;
  forgetOld(folder, now());
  let last = rotate();

  async function store(name: string, value: object | undefined): Promise<void> {
    try {
      const file = fileOf(name);
      const path = join(folder, file);
      if (value === undefined) rmSync(path, { force: true });
      else {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        await writeFileAtomic(path, seal(sealing.keys(), purposeOf(file), value, longest));
      }
    } catch (error) {
      log.error('A login cannot be kept', { error: messageOf(error) });
    }
  }
  async function rotate(): Promise<void> {
    for (const file of filesIn(folder)) {
      try {
        await sealAnew(join(folder, file), purposeOf(file), sealing.keys());
      } catch (error) {
        log.error('A login cannot be sealed anew', { error: messageOf(error) });
      }
    }
  }
  return {
    read(name) {
      try {
        const file = fileOf(name);
        return unseal(sealing.keys(), purposeOf(file), readFileSync(join(folder, file), 'utf8'), longest);
      } catch {
        return undefined;
      }
    },
    write(name, value) {
      last = last.then(() => store(name, value));
      return last;
    },
    rotate() {
      last = last.then(rotate);
      return last;
    },
    settled: () => last,
  };
}

interface Sealing {
  readonly keys: () => readonly WireKey[];
  readonly purposeOf: (file: string) => string;
}

/** With the current key; what none of the keys opens stays as it is. It is as old as before. */
async function sealAnew(path: string, purpose: string, keys: readonly WireKey[]): Promise<void> {
  const sealed = readFileSync(path, 'utf8');
  if (unseal(keys.slice(0, 1), purpose, sealed, longest) !== undefined) return;
  const value = unseal(keys, purpose, sealed, longest);
  if (value === undefined) return;
  const { atime, mtime } = statSync(path);
  await writeFileAtomic(path, seal(keys, purpose, value, longest));
  utimesSync(path, atime, mtime);
}

function filesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.sealed')) : [];
}

/** Milliseconds after which nobody comes back for what was not renewed meanwhile; guests never do. */
const longestKept = 180 * 24 * 3_600_000;

function forgetOld(folder: string, now: number): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (now - statSync(path).mtimeMs > longestKept) rmSync(path, { force: true });
  }
}

const known = new WeakMap<WireKey, WireKey>();

/** Nothing but files here is sealed with it. */
function derived(key: WireKey): WireKey {
  const before = known.get(key);
  if (before !== undefined) return before;
  const info = 'ploinky/upstream-login/v1';
  const secret = Buffer.from(hkdfSync('sha256', key.secret, Buffer.alloc(0), info, 32));
  const made = { kid: sha256Hex(secret).slice(0, 8), secret };
  known.set(key, made);
  return made;
}
