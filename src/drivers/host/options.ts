import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Ids } from './folders.ts';
import type { LimitsMethod } from './limits.ts';
import type { HostPlaces } from './places.ts';
import type { Sandbox } from './sandbox.ts';
import type { LeasePlan } from './shim-plan.ts';
import type { ShimProgram } from './spawn-shim.ts';

/** What every host driver is built with. */
export interface HostDriverOptions {
  readonly sandbox: Sandbox;
  readonly places: HostPlaces;
  readonly shim: ShimProgram;
  /** The sockets that an agent's loopback forwarders lead to. */
  readonly sockets: { readonly router: string; readonly egress: string };
  /** Absent: shims never end by themselves (tests). */
  readonly lease?: LeasePlan;
  readonly limits: LimitsMethod;
  /** Who runs the driver. */
  readonly self: Ids;
  /** PEM file with the system's certificate authorities, for install steps and agents with egress. */
  readonly caBundle?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Between SIGTERM and SIGKILL. Default 10 s. */
  readonly graceMs?: number;
  /** Size at which an agent's log is rotated, and how many older ones are kept. Default 10 MiB and 3. */
  readonly logMaxBytes?: number;
  readonly logKeep?: number;
}

export const hostDefaults = {
  graceMs: 10_000,
  logMaxBytes: 10 * 1024 * 1024,
  logKeep: 3,
  /** Open files of one process, when the Agent says nothing. */
  openFiles: 16_384,
};
