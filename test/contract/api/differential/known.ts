import { isDeepStrictEqual } from 'node:util';
import type { Difference } from './compare.ts';

/** Differences that stay, each with its reason. */
const known: readonly ((difference: Difference) => boolean)[] = [
  // A value of bytes that is null is stored in another form than one that is empty, though it is shown as that: the
  // next write of the same is one more version.
  ({ at, answers: [ours, real] }) =>
    /"path":"(secrets|configmaps)\//.test(at) &&
    isDeepStrictEqual(withoutVersion(ours), withoutVersion(real)),
  // Go reads a list of numbers as bytes.
  ({ at }) => /"(data|binaryData)":\{"[^"]*":\[/.test(at),
];

function withoutVersion(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (key, value) => (key === 'resourceVersion' ? undefined : value));
}

export function isKnown(difference: Difference): boolean {
  return known.some((one) => one(difference));
}
