import type { Condition } from '#api/meta.ts';

/** True when the condition of this type is there and `True`. */
export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
}
