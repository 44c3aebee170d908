import type { ApiObject } from '../object.ts';

/** The metadata of an object alone (metav1.PartialObjectMetadata), as JSON. */
export function partialJson(object: ApiObject, version: string): string {
  return JSON.stringify(partialObject(object, version));
}

export function partialObject(object: ApiObject, version: string): Record<string, unknown> {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata };
}
