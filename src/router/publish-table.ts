import type { Lease } from '#api/core-kinds.ts';
import {
  componentLabel,
  routerComponent,
  routerConflictsAnnotation,
  routerPeerAnnotation,
  routerTableAnnotation,
} from '#api/labels.ts';
import { leaseResource } from '#api/resources.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Client } from '#kube/client.ts';
import { formatMicroTime } from '#kube/micro-time.ts';
import type { TableSource } from './sources.ts';

export interface PublishOptions {
  readonly client: Pick<Client, 'apply' | 'delete'>;
  readonly tables: TableSource;
  readonly namespace: string;
  /** Name of this router's Lease, the same after a restart: `ploinky-router-<pod or host>`. */
  readonly name: string;
  /** Names that several agents of a Route have, for the Routes' status. Default: it does not say. */
  readonly conflicts?: ConflictSource;
  /** `IP:PORT` where other routers reach this one. Default: they do not. */
  readonly peerAddress?: string;
  readonly clock: Clock;
  readonly log: Log;
  /** How long the Lease counts without being renewed; it is renewed three times in that. Default 45 s. */
  readonly leaseSeconds?: number;
  /** Milliseconds between two writes at the least: what changes meanwhile is said at once. Default 100. */
  readonly pauseMs?: number;
}

export interface ConflictSource {
  /** As `encodeConflicts` makes it. */
  readonly text: string;
  subscribe(callback: () => void): () => void;
}

const fieldManager = 'ploinky-router';

/**
 * Says in this router's Lease which table it serves, at each change and as a sign of life: what the controller
 * needs for `Programmed`. The first change is written at once, what comes soon after it together. `stop` deletes the Lease.
 */
export function publishTable(options: PublishOptions): { stop(): Promise<void> } {
  const { clock, tables, log, conflicts, leaseSeconds = 45, pauseMs = 100 } = options;
  const word = () => `${tables.current().digest} ${conflicts?.text ?? ''}`;
  const stopped = new AbortController();
  const sleep = (ms: number) => clock.sleep(ms, stopped.signal).catch(() => undefined);
  let attempted: string | undefined;
  let wake = Promise.withResolvers<void>();
  const look = () => {
    if (word() !== attempted) wake.resolve();
  };
  const stops = [tables.subscribe(look), conflicts?.subscribe(look)];
  const running = (async () => {
    while (!stopped.signal.aborted) {
      wake = Promise.withResolvers();
      attempted = tables.synced ? word() : undefined;
      try {
        if (attempted !== undefined) await writeLease(options, leaseSeconds);
      } catch (error) {
        log.warn('the routing table cannot be published', { error });
      }
      await sleep(pauseMs);
      await Promise.race([sleep((leaseSeconds * 1000) / 3 - pauseMs), wake.promise]);
    }
  })();
  return {
    async stop() {
      for (const stop of stops) stop?.();
      stopped.abort();
      await running;
      const key = { namespace: options.namespace, name: options.name };
      await options.client.delete(leaseResource, key, { timeoutMs: 1_000 }).catch(() => undefined);
    },
  };
}

async function writeLease(options: PublishOptions, leaseSeconds: number): Promise<void> {
  const { client, namespace, name, clock, tables, conflicts, peerAddress } = options;
  const annotations = {
    [routerTableAnnotation]: tables.current().digest,
    ...(conflicts !== undefined && conflicts.text !== '' && { [routerConflictsAnnotation]: conflicts.text }),
    ...(peerAddress !== undefined && { [routerPeerAnnotation]: peerAddress }),
  };
  const labels = { [componentLabel]: routerComponent };
  const lease: Lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace, labels, annotations },
    spec: {
      holderIdentity: name,
      leaseDurationSeconds: leaseSeconds,
      renewTime: formatMicroTime(clock.now()),
    },
  };
  await client.apply<Lease>(leaseResource, lease, { fieldManager, force: true, timeoutMs: 5_000 });
}
