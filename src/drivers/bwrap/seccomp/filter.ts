import { join } from 'node:path';

/**
 * Path of the committed BPF program for a processor architecture as Node names it. For one that has none
 * the path does not exist, and the driver says so.
 */
export function seccompFilterFor(arch: string): string {
  return join(import.meta.dirname, `filter-${arch}.bpf`);
}
