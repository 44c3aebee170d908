import type { KubeObject, Resource } from '#api/meta.ts';

export const secretResource: Resource = core('Secret', 'secrets');
export const configMapResource: Resource = core('ConfigMap', 'configmaps');
export const eventResource: Resource = core('Event', 'events');
export const namespaceResource: Resource = { ...core('Namespace', 'namespaces'), namespaced: false };
export const leaseResource: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
};

function core(kind: string, plural: string): Resource {
  return { group: '', version: 'v1', kind, plural, namespaced: true };
}

/** coordination.k8s.io/v1. Times are metav1.MicroTime: RFC 3339 with exactly six fractional digits. */
export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}
