import type { Kind } from '../kinds/kind.ts';

export const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

/** The patch types a kind takes, in the order the API server lists them. */
export function supportedPatchTypes(kind: Kind): string[] {
  return kind.strategy.strategicMerge
    ? [patchTypes.json, patchTypes.merge, patchTypes.strategic, patchTypes.apply]
    : [patchTypes.json, patchTypes.merge, patchTypes.apply];
}
