import type { Lease } from '#api/core-kinds.ts';
import { leaseResource } from '#api/resources.ts';
import type { Cluster } from '../context.ts';
import { orForbidden } from './errors.ts';
import type { Installation } from './installation.ts';
import { isReady, type Pod, podResource } from './objects.ts';
import { waitsOf } from './pod-waits.ts';
import { controllerLease, routerLeasePrefix, selectorOf } from './product.ts';

/** A Lease as a sign of life. */
export interface SignOfLife {
  readonly holder: string;
  readonly alive: boolean;
  /** Milliseconds since it was renewed. */
  readonly age: number;
}

/** How the product's programs are. Undefined: the caller may not look. */
export interface ProgramFacts {
  /** `null`: nobody has ever led. */
  readonly leader: SignOfLife | null | undefined;
  readonly routers: readonly SignOfLife[] | undefined;
  readonly controllerPods: { readonly ready: number; readonly all: number } | undefined;
  readonly routerPods: { readonly ready: number; readonly all: number };
  /** Why containers of each have not begun. */
  readonly waits: { readonly controller: readonly string[]; readonly router: readonly string[] };
}

/** Reads them. `now` is the wall clock in milliseconds. */
export async function readPrograms(
  { client }: Cluster,
  { namespace, routers }: Installation,
  now: number,
): Promise<ProgramFacts> {
  const [leases, controllers] = await Promise.all([
    orForbidden(client.list<Lease>(leaseResource, { namespace }), undefined),
    orForbidden(
      client.list<Pod>(podResource, { namespace, labelSelector: selectorOf('controller') }),
      undefined,
    ),
  ]);
  const leader = leases?.items.find(({ metadata }) => metadata.name === controllerLease);
  const alive = leases?.items.filter(({ metadata }) => metadata.name.startsWith(routerLeasePrefix));
  return {
    leader: leases === undefined ? undefined : leader === undefined ? null : signOf(leader, now),
    routers: alive?.map((lease) => signOf(lease, now)),
    controllerPods: controllers && count(controllers.items),
    routerPods: count(routers),
    waits: { controller: waitsOf(controllers?.items ?? []), router: waitsOf(routers) },
  };
}

/** Counts with the grace that clocks of two machines may differ by. */
const clockSkewMs = 5_000;

export function signOf({ metadata, spec }: Lease, now: number): SignOfLife {
  const renewed = Date.parse(spec?.renewTime ?? '');
  const age = Number.isNaN(renewed) ? Number.POSITIVE_INFINITY : Math.max(0, now - renewed);
  const holder = spec?.holderIdentity ?? '';
  const lasts = (spec?.leaseDurationSeconds ?? 0) * 1000 + clockSkewMs;
  return { holder: holder === '' ? metadata.name : holder, alive: holder !== '' && age <= lasts, age };
}

function count(pods: readonly Pod[]): { ready: number; all: number } {
  return { ready: pods.filter(isReady).length, all: pods.length };
}
