import { group, version } from './group.ts';
import type { Resource } from './meta.ts';

/** Apart from the kinds' schemas: whoever reads and writes objects needs to load none of those. */
export const agentResource: Resource = own('Agent', 'agents');
export const routeResource: Resource = own('Route', 'routes');
export const taskResource: Resource = own('Task', 'tasks');

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

/** Every kind that this project reads or writes, its own first. */
export const resources: readonly Resource[] = [
  agentResource,
  routeResource,
  taskResource,
  secretResource,
  configMapResource,
  eventResource,
  leaseResource,
  namespaceResource,
];

function own(kind: string, plural: string): Resource {
  return { group, version, kind, plural, namespaced: true };
}

function core(kind: string, plural: string): Resource {
  return { group: '', version: 'v1', kind, plural, namespaced: true };
}
