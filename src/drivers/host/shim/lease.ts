import { readFileSync, statSync } from 'node:fs';
import type { Clock } from '#kit/clock.ts';
import type { LeasePlan } from '../shim-plan.ts';

/**
 * Calls `onOver` once: with `lease` after `staleTicks` looks in a row that found the file unchanged or
 * missing, with `down` when the file itself says that the workspace is ending. Returns the stop function.
 */
export function watchLease(
  plan: LeasePlan,
  clock: Clock,
  onOver: (cause: 'lease' | 'down') => void,
): () => void {
  let seen = look(plan.path);
  let unchanged = 0;
  const tick = () => {
    const now = look(plan.path);
    unchanged = now === undefined || now.signature === seen?.signature ? unchanged + 1 : 0;
    seen = now ?? seen;
    if (now?.isDown === true) onOver('down');
    else if (unchanged >= plan.staleTicks) onOver('lease');
    else cancel = clock.after(plan.tickMs, tick);
  };
  let cancel = clock.after(plan.tickMs, tick);
  return () => cancel();
}

/** `signature` changes whenever the file is rewritten, replaced or touched. */
function look(path: string): { signature: string; isDown: boolean } | undefined {
  try {
    const stat = statSync(path, { bigint: true });
    const isDown = /"state":\s*"down"/.test(readFileSync(path, 'utf8'));
    return { signature: `${stat.ino}:${stat.mtimeNs}:${stat.size}`, isDown };
  } catch {
    return undefined;
  }
}
