import type { Lease } from '#api/core-kinds.ts';
import { componentLabel, routerComponent, routerPeerAnnotation } from '#api/labels.ts';
import { leaseResource } from '#api/resources.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Cache } from '#kube/cache.ts';
import type { Client } from '#kube/client.ts';
import { createInformer } from '#kube/informer.ts';
import type { Metrics } from '#kube/metrics.ts';
import { isPeerAddress } from './messages.ts';
import type { PeerEvent, PeerSource } from './peers.ts';

export interface FollowPeersOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Where routers have their Leases. */
  readonly namespace: string;
  /** Name of this router's own. */
  readonly ownName: string;
}

/** Follows the Leases of the routers of one installation, by a watch. */
export function followPeers(options: FollowPeersOptions): PeerSource & { stop(): Promise<void> } {
  const { ownName, ...common } = options;
  const leases = createInformer<Lease>({
    ...common,
    resource: leaseResource,
    labelSelector: `${componentLabel}=${routerComponent}`,
  });
  leases.start();
  return {
    synced: leases.synced,
    subscribe: (handler) => subscribeToPeers(leases.cache, ownName, handler),
    stop: () => leases.stop(),
  };
}

/** A Lease that was not renewed in its time says nothing: the object of a router that was killed stays. */
export function subscribeToPeers(
  leases: Pick<Cache<Lease>, 'subscribe'>,
  ownName: string,
  handler: (event: PeerEvent) => void,
): () => void {
  return leases.subscribe(({ type, object, old }) => {
    if (object.metadata.name === ownName) return;
    const address = addressIn(object);
    const before = old === undefined ? undefined : addressIn(old);
    if (before !== undefined && before !== address) handler({ type: 'left', address: before });
    if (address === undefined) return;
    if (type === 'deleted') handler({ type: 'left', address });
    else handler({ type: 'alive', address, until: endOf(object) });
  });
}

function addressIn(lease: Lease): string | undefined {
  const address = lease.metadata.annotations?.[routerPeerAnnotation];
  return address !== undefined && isPeerAddress(address) ? address : undefined;
}

/** Epoch milliseconds; 0 for a Lease without times. */
function endOf({ spec }: Lease): number {
  const renewed = Date.parse(spec?.renewTime ?? '');
  const end = renewed + (spec?.leaseDurationSeconds ?? 0) * 1000;
  return Number.isFinite(end) ? end : 0;
}
