import type { Difference } from './compare.ts';

/** Differences that stay, each with its reason. */
const known: readonly ((difference: Difference) => boolean)[] = [
  // What is immutable may not become an empty map instead of none: an accident of Go's comparison, which nobody
  // can see the effect of, since empty maps are not shown.
  ({ at, answers }) =>
    /"(data|binaryData|stringData)":\{/.test(at) &&
    JSON.stringify(answers[1]).includes('field is immutable when `immutable` is set'),
];

export function isKnown(difference: Difference): boolean {
  return known.some((one) => one(difference));
}
