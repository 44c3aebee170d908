import type { Driver } from '../driver.ts';
import { createHostDriver } from '../host/driver.ts';
import type { HostDriverOptions } from '../host/options.ts';
import { type BwrapOptions, createBwrapSandbox } from './sandbox.ts';

export type BwrapDriverOptions = Omit<HostDriverOptions, 'sandbox'> & { readonly bwrap: BwrapOptions };

/** Agents under bubblewrap on Linux. */
export function createBwrapDriver({ bwrap, ...host }: BwrapDriverOptions): Driver {
  return createHostDriver({ ...host, sandbox: createBwrapSandbox(bwrap) });
}
