import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { CannotRun } from '../harness/bench.ts';
import { checkout, type Scope } from '../harness/scope.ts';

const tmpfs = 0x01021994;

/**
 * A folder on the checkout's disk, since folders for temporary files are in memory on many machines, where flushing
 * costs nothing. It goes with the scope. Throws CannotRun when the checkout is in memory, too.
 */
export function diskFolder(scope: Scope): string {
  const parent = join(checkout, '.out');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'tasks-'));
  scope.defer(() => rmSync(folder, { recursive: true, force: true }));
  if (statfsSync(folder).type === tmpfs) {
    throw new CannotRun(`${folder} is in memory: nothing is durable there, and flushing it costs nothing`);
  }
  return folder;
}
