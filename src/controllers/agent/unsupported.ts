import type { AgentSpec } from '#api/agent.ts';
import type { Workload } from '#drivers/workload.ts';
import type { Refusal } from './facts.ts';

/**
 * Fields that the schema knows and the chosen runtime has no way to carry out, each with what to use instead.
 * Pure. What merely means nothing there (a storage class on a laptop) is no such field.
 */
export function unsupportedFields(spec: AgentSpec, runtime: Workload['runtime']['class']): Refusal[] {
  const rules = runtime === 'Pod' ? podRules : hostRules;
  return rules
    .filter(({ isSet }) => isSet(spec))
    .map(({ field, instead }) => ({
      reason: 'NotSupported',
      message: `${field} does not work with runtime class ${runtime}; ${instead}.`,
    }));
}

interface FieldRule {
  readonly field: string;
  readonly isSet: (spec: AgentSpec) => boolean;
  readonly instead: string;
}

const podRules: readonly FieldRule[] = [
  {
    field: 'spec.code.path',
    isSet: ({ code }) => code?.path !== undefined,
    instead:
      'a pod has no folder of your machine: use spec.code.git, image, configMap, pvc or inline, or a runtime.image that carries the code',
  },
];

const elsewhere = 'use spec.code.path or inline here, or run it on a cluster';

const hostRules: readonly FieldRule[] = (['git', 'image', 'configMap', 'pvc'] as const).map((source) => ({
  field: `spec.code.${source}`,
  isSet: ({ code }) => code?.[source] !== undefined,
  instead: elsewhere,
}));
