import type { KubeObject } from '#api/meta.ts';

/** Which object, never what happened to it. `namespace` is '' for cluster-scoped kinds. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

export function keyOf(object: KubeObject): ObjectKey {
  return { namespace: object.metadata.namespace ?? '', name: object.metadata.name };
}

/** `namespace/name`, or `/name` for cluster-scoped kinds. Neither part can contain a slash. */
export function keyText(key: ObjectKey): string {
  return `${key.namespace}/${key.name}`;
}

/** The same text as `keyText(keyOf(object))`, without the object between. */
export function keyTextOf(object: KubeObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}
