import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { codeOf } from '#kit/errors.ts';
import { isRunning, type ProcessIdentity } from '#kit/process.ts';

/**
 * Claims a run's folder for one shim: a controller that was killed while it started a shim must not end with
 * two. Throws while another shim lives; the claim of a dead one is taken over. Returns the release.
 */
export function claimFolder(path: string, self: ProcessIdentity): () => void {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      writeFileSync(path, JSON.stringify(self), { flag: 'wx', mode: 0o600 });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      if (isHeld(path)) throw new Error(`another shim runs this workload (${path})`);
      rmSync(path, { force: true });
    }
  }
  throw new Error(`cannot claim ${path}`);
}

function isHeld(path: string): boolean {
  try {
    return isRunning(JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity);
  } catch {
    return false;
  }
}
