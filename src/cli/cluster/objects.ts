import type { KubeObject, Resource } from '#api/meta.ts';

/** What the command line reads of a cluster beyond the kinds of the product: only the fields that it looks at. */

export interface Pod extends KubeObject {
  spec?: {
    containers?: readonly Container[];
    initContainers?: readonly Container[];
  };
  status?: {
    phase?: string;
    conditions?: readonly { type: string; status: string }[];
    containerStatuses?: readonly ContainerStatus[];
    initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface Container {
  name: string;
  image?: string;
  args?: readonly string[];
  ports?: readonly { name?: string; containerPort: number }[];
}

export interface ContainerStatus {
  name: string;
  image?: string;
  restartCount?: number;
  state?: {
    waiting?: { reason?: string; message?: string };
    running?: { startedAt?: string };
    terminated?: { exitCode: number; reason?: string };
  };
}

export interface Service extends KubeObject {
  spec?: {
    ports?: readonly { name?: string; port: number; targetPort?: number | string }[];
  };
}

export interface Ingress extends KubeObject {
  spec?: {
    tls?: readonly { hosts?: readonly string[] }[];
    rules?: readonly { host?: string; http?: { paths?: readonly { path?: string }[] } }[];
  };
  status?: { loadBalancer?: { ingress?: readonly unknown[] } };
}

export interface AccessReview extends KubeObject {
  spec: {
    resourceAttributes: {
      verb: string;
      resource: string;
      group?: string;
      subresource?: string;
      namespace?: string;
    };
  };
  status?: { allowed?: boolean; reason?: string };
}

export interface Definition extends KubeObject {
  spec?: { versions?: readonly { name: string; schema?: { openAPIV3Schema?: unknown } }[] };
  status?: { conditions?: readonly { type: string; status: string; message?: string }[] };
}

export const podResource = kind('', 'v1', 'Pod', 'pods');
export const serviceResource = kind('', 'v1', 'Service', 'services');
export const ingressResource = kind('networking.k8s.io', 'v1', 'Ingress', 'ingresses');
export const storageClassResource = unscoped('storage.k8s.io', 'v1', 'StorageClass', 'storageclasses');
export const definitionResource = unscoped(
  'apiextensions.k8s.io',
  'v1',
  'CustomResourceDefinition',
  'customresourcedefinitions',
);
export const accessReviewResource = unscoped(
  'authorization.k8s.io',
  'v1',
  'SelfSubjectAccessReview',
  'selfsubjectaccessreviews',
);

function kind(group: string, version: string, name: string, plural: string): Resource {
  return { group, version, kind: name, plural, namespaced: true };
}

function unscoped(group: string, version: string, name: string, plural: string): Resource {
  return { group, version, kind: name, plural, namespaced: false };
}

export function isReady(pod: Pod): boolean {
  const ready = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
  return ready === true && pod.metadata.deletionTimestamp === undefined;
}
