import type { Lease } from '#api/core-kinds.ts';
import { leaseResource } from '#api/resources.ts';
import type { Client } from './client.ts';
import type { CallOptions } from './client-options.ts';
import type { ObjectKey } from './key.ts';
import { formatMicroTime } from './micro-time.ts';

export interface LeaseClaim {
  readonly identity: string;
  readonly leaseDurationMs: number;
  /** Epoch milliseconds. */
  readonly now: number;
}

export function readLease(client: Client, key: ObjectKey, call: CallOptions): Promise<Lease | undefined> {
  return client.find<Lease>(leaseResource, key, call);
}

/**
 * Writes `identity` as the holder: creates the lease when `current` is undefined, else replaces exactly that
 * version. Throws ApiError 409 when somebody else wrote meanwhile.
 */
export function claimLease(
  client: Client,
  key: ObjectKey,
  current: Lease | undefined,
  { identity, leaseDurationMs, now }: LeaseClaim,
  call: CallOptions,
): Promise<Lease> {
  const time = formatMicroTime(now);
  const before = current?.spec;
  const isOurs = before?.holderIdentity === identity;
  const spec = {
    ...before,
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
    acquireTime: isOurs ? (before.acquireTime ?? time) : time,
    renewTime: time,
    leaseTransitions: (before?.leaseTransitions ?? 0) + (current === undefined || isOurs ? 0 : 1),
  };
  const metadata = current?.metadata ?? { namespace: key.namespace, name: key.name };
  const lease: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
  return current === undefined
    ? client.create(leaseResource, lease, call)
    : client.update(leaseResource, lease, call);
}

/** Gives up a lease that was held in this version: no holder, and a duration of a second for those who wait. */
export async function releaseLease(
  client: Client,
  held: Lease,
  now: number,
  call: CallOptions,
): Promise<void> {
  // No field, not an empty one: the API refuses an empty holder.
  const { holderIdentity: _given, ...rest } = held.spec ?? {};
  const spec = { ...rest, leaseDurationSeconds: 1, renewTime: formatMicroTime(now) };
  await client.update(leaseResource, { ...held, spec }, call);
}
