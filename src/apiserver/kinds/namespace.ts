import { isObject } from '#kit/json.ts';
import type { ApiObject } from '../object.ts';
import { labelProblems } from '../schema/names.ts';
import { objectSchema } from '../schema/object-meta.ts';
import { ageOf } from '../table/age.ts';
import type { Kind } from './kind.ts';

const nameLabel = 'kubernetes.io/metadata.name';

export const namespaceKind: Kind = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  listKind: 'NamespaceList',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  categories: [],
  namespaced: false,
  custom: false,
  status: true,
  columns: [],
  storage: { id: 'namespaces', secret: false },
  schema: objectSchema({
    description: 'Namespace is a scope for names.',
    properties: {
      spec: {
        type: 'object',
        description: 'What must happen before the namespace is gone.',
        properties: {
          finalizers: {
            type: 'array',
            description: 'Must be empty before the namespace is removed.',
            items: { type: 'string' },
            'x-kubernetes-list-type': 'atomic',
          },
        },
      },
      status: {
        type: 'object',
        description: 'The state of the namespace.',
        properties: {
          phase: { type: 'string', description: 'Active or Terminating.' },
          conditions: {
            type: 'array',
            items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['type'],
            'x-kubernetes-patch-strategy': 'merge',
            'x-kubernetes-patch-merge-key': 'type',
          },
        },
      },
    },
  }),
  strategy: {
    unconditionalUpdate: true,
    createOnUpdate: false,
    generation: false,
    strategicMerge: true,
    validateName: labelProblems,
    normalize: labelNamespace,
    prepare: prepareNamespace,
    table: {
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Status', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
      cells: (object, now) => [
        object.metadata.name,
        phaseOf(object),
        ageOf(object.metadata.creationTimestamp, now),
      ],
    },
    fieldSelectors: {
      'status.phase': phaseOf,
      name: (object) => object.metadata.name ?? '',
    },
  },
};

/** `Active`, or `Terminating` while the namespace is emptied. */
export function phaseOf(namespace: ApiObject): string {
  const status = namespace['status'];
  return isObject(status) ? String(status['phase'] ?? '') : '';
}

function labelNamespace(object: ApiObject): void {
  object.metadata.labels = { ...object.metadata.labels, [nameLabel]: object.metadata.name ?? '' };
}

function prepareNamespace(object: ApiObject, old: ApiObject | undefined): void {
  if (old === undefined) {
    object['spec'] = { finalizers: ['kubernetes'] };
    object['status'] = { phase: 'Active' };
  }
}
