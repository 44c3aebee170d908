import type { Driver } from '../driver.ts';
import { createHostDriver } from '../host/driver.ts';
import type { HostDriverOptions } from '../host/options.ts';
import { createProcessSandbox, type ProcessOptions } from './sandbox.ts';

export type ProcessDriverOptions = Omit<HostDriverOptions, 'sandbox'> & { readonly process: ProcessOptions };

/** Agents as plain processes. Never chosen unless the Agent asks for it. */
export function createProcessDriver({ process, ...host }: ProcessDriverOptions): Driver {
  return createHostDriver({ ...host, sandbox: createProcessSandbox(process) });
}
