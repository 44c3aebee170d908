import type { Driver } from '../driver.ts';
import { createHostDriver } from '../host/driver.ts';
import type { HostDriverOptions } from '../host/options.ts';
import { createSeatbeltSandbox, type SeatbeltOptions } from './sandbox.ts';

export type SeatbeltDriverOptions = Omit<HostDriverOptions, 'sandbox'> & {
  readonly seatbelt: SeatbeltOptions;
};

/** Agents under sandbox-exec on macOS. */
export function createSeatbeltDriver({ seatbelt, ...host }: SeatbeltDriverOptions): Driver {
  return createHostDriver({ ...host, sandbox: createSeatbeltSandbox(seatbelt) });
}
