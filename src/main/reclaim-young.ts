import { exposeCollect } from './expose-collect.ts';

/**
 * Frees what died young. V8 lets tens of MiB of read buffers lie before it looks after them by itself; this takes a
 * millisecond or two.
 */
export function reclaimYoung(): () => void {
  const collect = exposeCollect();
  return () => collect({ type: 'minor' });
}
