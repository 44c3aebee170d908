import type { KubeObject, Resource } from '#api/meta.ts';
import type { WriteOptions } from './client-options.ts';
import { apiVersionOf, objectPath, type QueryValue, withQuery } from './resource-path.ts';

/** Path and query of a write to one object, or to a subresource of it. */
export function writePath(
  resource: Resource,
  object: KubeObject,
  options: WriteOptions & { readonly force?: boolean },
  subresource?: string,
): string {
  const { namespace, name } = object.metadata;
  return withQuery(objectPath(resource, namespace, name, subresource), writeQuery(options));
}

export function writeQuery(options: WriteOptions & { readonly force?: boolean }): Record<string, QueryValue> {
  return {
    fieldManager: options.fieldManager,
    fieldValidation: options.fieldValidation,
    dryRun: options.dryRun ? 'All' : undefined,
    force: options.force ? true : undefined,
  };
}

/** The API leaves apiVersion and kind out of the items of core lists. Changes the items in place. */
export function nameKinds<T extends KubeObject>(resource: Resource, items: T[]): T[] {
  const apiVersion = apiVersionOf(resource);
  for (const item of items) {
    item.apiVersion = apiVersion;
    item.kind = resource.kind;
  }
  return items;
}
