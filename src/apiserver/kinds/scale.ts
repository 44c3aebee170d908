import { subdomainProblems } from '../schema/names.ts';
import { objectSchema } from '../schema/object-meta.ts';
import type { Kind } from './kind.ts';

const replicas = { type: 'integer', format: 'int32' };

/** autoscaling/v1 Scale: a view of another object, never stored. */
export const scaleKind: Kind = {
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  listKind: '',
  plural: 'scales',
  singular: 'scale',
  shortNames: [],
  categories: [],
  namespaced: true,
  custom: false,
  status: false,
  columns: [],
  storage: { id: 'scales', secret: false },
  schema: objectSchema({
    description: 'Scale is how many replicas an object should have, and has.',
    properties: {
      spec: { type: 'object', properties: { replicas } },
      status: { type: 'object', properties: { replicas, selector: { type: 'string' } } },
    },
  }),
  strategy: {
    unconditionalUpdate: true,
    createOnUpdate: false,
    generation: false,
    strategicMerge: true,
    validateName: subdomainProblems,
  },
};
