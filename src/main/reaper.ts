import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** How native/reaper.c ends when it is called without a command. */
const usage = 64;

/** The program that ends everything of a call, or why it cannot be used here. */
export type Reaper =
  | { readonly path: string }
  /** `isUnbuilt`: nothing of the checkout is built yet. */
  | { readonly missing: string; readonly isUnbuilt?: true };

/**
 * Looks for the reaper beside this program (in a checkout: in dist/) and tries it: a file system may be mounted
 * without programs, another machine's may have been copied. Takes a millisecond or two.
 */
export function findReaper(folder: string = import.meta.dirname): Reaper {
  if (process.platform !== 'linux') return { missing: 'it needs Linux' };
  if (!existsSync(`/proc/self/task/${process.pid}/children`))
    return { missing: 'the kernel has no /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN)' };
  const inCheckout = folder.endsWith(join('src', 'main'));
  const path = inCheckout ? join(folder, '../../dist/reaper') : join(folder, 'reaper');
  if (inCheckout && !existsSync(join(folder, '../../dist/agent-server.mjs')))
    return { missing: `${path} is not built yet`, isUnbuilt: true };
  if (!existsSync(path)) return { missing: `${path} is not there` };
  const { status, error } = spawnSync(path, [], { env: {}, stdio: 'ignore' });
  return status === usage ? { path } : { missing: `${path} does not run: ${error?.message ?? status}` };
}
