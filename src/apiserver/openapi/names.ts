import type { Kind } from '../kinds/kind.ts';

/** The name of a kind's schema, as the API server derives it: the group's labels backwards, then version and kind. */
export function definitionName(kind: Pick<Kind, 'group' | 'version' | 'kind'>): string {
  const group = kind.group === '' ? 'io.k8s.api.core' : kind.group.split('.').reverse().join('.');
  return `${group}.${kind.version}.${kind.kind}`;
}

/** Where a schema lies: OpenAPI v3 keeps them under components, v2 under definitions. */
export type Reference = (name: string) => Record<string, unknown>;

export const referenceV3: Reference = (name) => ({ $ref: `#/components/schemas/${name}` });
export const referenceV2: Reference = (name) => ({ $ref: `#/definitions/${name}` });
