import { isObject } from '#kit/json.ts';
import { type FieldError, invalidValue } from '../field-error.ts';
import type { ApiObject } from '../object.ts';
import { subdomainProblems } from '../schema/names.ts';
import { objectSchema } from '../schema/object-meta.ts';
import { ageOf } from '../table/age.ts';
import type { Kind } from './kind.ts';
import { normalizeMicroTime } from './micro-time.ts';

export const leaseKind: Kind = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  listKind: 'LeaseList',
  plural: 'leases',
  singular: 'lease',
  shortNames: [],
  categories: [],
  namespaced: true,
  custom: false,
  status: false,
  columns: [],
  storage: { id: 'coordination.k8s.io/leases', secret: false },
  schema: objectSchema({
    description: 'Lease says who holds a right, and until when: what leader election is made of.',
    properties: {
      spec: {
        type: 'object',
        description: 'The lease itself.',
        properties: {
          acquireTime: { type: 'string', format: 'date-time', description: 'When the holder got the lease.' },
          holderIdentity: { type: 'string', description: 'Who holds the lease.' },
          leaseDurationSeconds: {
            type: 'integer',
            format: 'int32',
            description: 'How long others wait after the last renewal before they take the lease.',
          },
          leaseTransitions: {
            type: 'integer',
            format: 'int32',
            description: 'How often the holder changed.',
          },
          preferredHolder: { type: 'string', description: 'Who should hold the lease next.' },
          renewTime: { type: 'string', format: 'date-time', description: 'When the holder renewed last.' },
          strategy: { type: 'string', description: 'How the next holder is chosen.' },
        },
      },
    },
  }),
  strategy: {
    unconditionalUpdate: false,
    createOnUpdate: true,
    generation: false,
    strategicMerge: true,
    validateName: subdomainProblems,
    decode: (object) => {
      for (const field of ['acquireTime', 'renewTime']) normalizeMicroTime('Lease', specOf(object), field);
    },
    normalize: (object) => {
      object['spec'] ??= {};
    },
    prepare: dropUnserved,
    blank: { spec: {} },
    validate: validateLease,
    table: {
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Holder', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
      cells: (object, now) => [
        object.metadata.name,
        specOf(object)['holderIdentity'] ?? '',
        ageOf(object.metadata.creationTimestamp, now),
      ],
    },
  },
};

function specOf(object: ApiObject): Record<string, unknown> {
  return isObject(object['spec']) ? object['spec'] : {};
}

/** Members of coordinated leader election, which is off: they are not kept. */
function dropUnserved(object: ApiObject, old: ApiObject | undefined): void {
  for (const field of ['strategy', 'preferredHolder'])
    if (old === undefined || specOf(old)[field] === undefined) delete specOf(object)[field];
}

function validateLease(object: ApiObject): FieldError[] {
  const { leaseDurationSeconds, leaseTransitions } = specOf(object);
  const errors: FieldError[] = [];
  if (typeof leaseDurationSeconds === 'number' && leaseDurationSeconds <= 0)
    errors.push(invalidValue('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'));
  if (typeof leaseTransitions === 'number' && leaseTransitions < 0)
    errors.push(
      invalidValue('spec.leaseTransitions', leaseTransitions, 'must be greater than or equal to 0'),
    );
  return errors;
}
