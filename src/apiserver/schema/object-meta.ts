import type { Schema } from './schema.ts';

const text = (description: string): Schema => ({ type: 'string', description });
const time = (description: string): Schema => ({
  type: 'string',
  format: 'date-time',
  description,
  nullable: true,
});
const stringMap = (description: string): Schema => ({
  type: 'object',
  description,
  additionalProperties: { type: 'string' },
});

const ownerReferenceSchema: Schema = {
  type: 'object',
  description: 'An object that owns this one: when no owner is left, this object is deleted.',
  'x-kubernetes-map-type': 'atomic',
  required: ['apiVersion', 'kind', 'name', 'uid'],
  properties: {
    apiVersion: text('API version of the owner.'),
    kind: text('Kind of the owner.'),
    name: text('Name of the owner.'),
    uid: text('UID of the owner.'),
    controller: { type: 'boolean', description: 'True when the owner is the managing controller.' },
    blockOwnerDeletion: {
      type: 'boolean',
      description: 'With foreground deletion, the owner stays until this object is gone.',
    },
  },
};

const managedFieldsEntrySchema: Schema = {
  type: 'object',
  description: 'The fields that one manager owns.',
  properties: {
    manager: text('Name of the manager.'),
    operation: text('How the fields came to be owned: Apply or Update.'),
    apiVersion: text('Version of the resource that the field set applies to.'),
    time: time('When the set last changed.'),
    fieldsType: text('Format of the fields: FieldsV1.'),
    fieldsV1: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, description: 'The field set.' },
    subresource: text('The subresource the fields were written through, if any.'),
  },
};

/** metav1.ObjectMeta: what pruning, strict validation and server-side apply know of `metadata`. */
export const objectMetaSchema: Schema = {
  type: 'object',
  description: 'Standard object metadata: name, namespace, labels, annotations, owners and versions.',
  properties: {
    annotations: stringMap('Key-value map for tools; not queryable.'),
    creationTimestamp: time('When the server created the object. Read-only.'),
    deletionGracePeriodSeconds: { type: 'integer', format: 'int64', description: 'Read-only.' },
    deletionTimestamp: time('When the object was asked to be deleted. Read-only.'),
    finalizers: {
      type: 'array',
      description: 'Must be empty before the object is removed.',
      items: { type: 'string' },
      'x-kubernetes-list-type': 'set',
      'x-kubernetes-patch-strategy': 'merge',
    },
    generateName: text('Prefix of a name that the server makes unique.'),
    generation: {
      type: 'integer',
      format: 'int64',
      description: 'Counts changes of the desired state. Read-only.',
    },
    labels: stringMap('Key-value map for selectors.'),
    managedFields: {
      type: 'array',
      description: 'Which manager owns which fields.',
      items: managedFieldsEntrySchema,
      'x-kubernetes-list-type': 'atomic',
    },
    name: text('Unique within a namespace. Cannot be changed.'),
    namespace: text('The namespace the object lives in. Cannot be changed.'),
    ownerReferences: {
      type: 'array',
      description: 'Objects this object depends on.',
      items: ownerReferenceSchema,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'uid',
    },
    resourceVersion: text('Opaque version for optimistic concurrency. Read-only.'),
    selfLink: text('Deprecated.'),
    uid: text('Unique in time and space. Read-only.'),
  },
};

/** The three members that every kind has, with the texts that generated CRDs carry. */
const typeMetaProperties: Readonly<Record<string, Schema>> = {
  apiVersion: {
    type: 'string',
    description:
      'APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources',
  },
  kind: {
    type: 'string',
    description:
      'Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds',
  },
};

/** The schema of a whole object: the kind's own members around typed metadata. */
export function objectSchema(own: Schema): Schema {
  return {
    ...own,
    type: 'object',
    properties: { ...own.properties, ...typeMetaProperties, metadata: objectMetaSchema },
  };
}
