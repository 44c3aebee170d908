import type { Resource } from '#api/meta.ts';

/** `v1` or `ploinky.dev/v1alpha1`: the apiVersion field of the resource's objects. */
export function apiVersionOf(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** Path of a collection. Without `namespace` it spans all namespaces. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group === '' ? '/api' : '/apis';
  const scope = resource.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}/${apiVersionOf(resource)}${scope}/${resource.plural}`;
}

/** Path of one object, or of a subresource of it. */
export function objectPath(
  resource: Resource,
  namespace: string | undefined,
  name: string,
  subresource?: string,
): string {
  const path = `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

export type QueryValue = string | number | boolean | undefined;

/** `path?a=1&b=2`; members that are undefined or '' are left out. */
export function withQuery(path: string, query: Readonly<Record<string, QueryValue>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}
